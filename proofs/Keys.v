(** Chapters 2 and 3: Philox4x32-10, and the words that a seed, an epoch and a domain determine.

    Their values matter to no theorem. All that is proved is that they are words of 32 bits. They
    are here so that the maps of the other files can be run from seeds, and compared with what the
    library gives. *)

From Proofs Require Export Words.

Definition philox_round '((x0, x1, x2, x3), (k0, k1)) :=
  let a := 0xd2511f53 * x0 in
  let b := 0xcd9e8d57 * x2 in
  ((high b ^^ x1 ^^ k0, low b, high a ^^ x3 ^^ k1, low a),
   (low (k0 + 0x9e3779b9), low (k1 + 0xbb67ae85))).

Definition philox key counter := fst (Nat.iter 10 philox_round (counter, key)).

(** One or four words of 64 bits, and an epoch. *)
Record seed := Seed { words_of : list Z; epoch : Z }.

Definition block s domain j :=
  fold_left (fun x word => philox (low word, high word) x) (words_of s)
    (j, domain, low (epoch s), high (epoch s)).

(** The first words of a key stream, four for each of [blocks] blocks. *)
Definition stream s domain blocks :=
  flat_map (fun j => let '(x0, x1, x2, x3) := block s domain j in [x0; x1; x2; x3])
    (range blocks).

(** Words of 64 bits. *)
Fixpoint wide words :=
  match words with
  | a :: b :: rest => join a b :: wide rest
  | _ => []
  end.

Definition domain_width (b : Z) := b.
Definition domain_exact n := Z.lor 0x80000000 ((n ^^ (n >> 31) ^^ (n >> 62)) mod 2^31).
Definition domain_blocks := 0x40000000.

Definition child s domain := Seed (firstn (length (words_of s)) (wide (stream s domain 2))) 0.

Definition at_epoch s e := Seed (words_of s) e.

(** A seed as chapter 1 defines it. *)
Definition right_seed s := Forall (below (2^64)) (words_of s) /\ below (2^64) (epoch s).

Lemma low_below x : below (2^32) (low x).
Proof. apply mod_below. lia. Qed.

Lemma high_below x : below (2^64) x -> below (2^32) (high x).
Proof.
  intros [H0 H1]. unfold high, below. rewrite Z.shiftr_div_pow2 by lia. split.
  - apply Z.div_pos; lia.
  - apply Z.div_lt_upper_bound; lia.
Qed.

Lemma product_below c x : below (2^32) c -> below (2^32) x -> below (2^64) (c * x).
Proof.
  intros [C0 C1] [X0 X1]. split; [now apply Z.mul_nonneg_nonneg|].
  apply Z.le_lt_trans with (2^32 * x); [apply Z.mul_le_mono_nonneg_r; lia | lia].
Qed.

Definition four_words '((a, b, c, d) : Z * Z * Z * Z) :=
  (below (2^32) a /\ below (2^32) b) /\ (below (2^32) c /\ below (2^32) d).
Definition two_words '((a, b) : Z * Z) := below (2^32) a /\ below (2^32) b.

Lemma philox_words key counter : two_words key -> four_words counter ->
  four_words (philox key counter).
Proof.
  intros Hk Hc. unfold philox.
  enough (H : forall n, let '(x, k) := Nat.iter n philox_round (counter, key) in
    four_words x /\ two_words k).
  { specialize (H 10%nat). destruct (Nat.iter 10 philox_round (counter, key)). apply H. }
  induction n as [|n IH]; [exact (conj Hc Hk)|].
  change (Nat.iter (S n) philox_round (counter, key))
    with (philox_round (Nat.iter n philox_round (counter, key))).
  destruct (Nat.iter n philox_round (counter, key)) as [[[[x0 x1] x2] x3] [k0 k1]].
  destruct IH as [[[A B] [C D]] [E F]]. unfold philox_round. cbn zeta.
  assert (P : below (2^32) (high (0xd2511f53 * x0))).
  { apply high_below, product_below; [unfold below; lia | exact A]. }
  assert (Q : below (2^32) (high (0xcd9e8d57 * x2))).
  { apply high_below, product_below; [unfold below; lia | exact C]. }
  refine (conj (conj (conj _ (low_below _)) (conj _ (low_below _)))
    (conj (low_below _) (low_below _))); repeat apply xor_below; auto; lia.
Qed.

Lemma block_words s domain j : right_seed s -> below (2^32) domain -> below (2^32) j ->
  four_words (block s domain j).
Proof.
  intros [W E] Hd Hj. unfold block.
  assert (C : four_words (j, domain, low (epoch s), high (epoch s)))
    by exact (conj (conj Hj Hd) (conj (low_below _) (high_below _ E))).
  revert C. generalize (j, domain, low (epoch s), high (epoch s)).
  induction W as [|w words Hw _ IH]; intros x Hx; cbn [fold_left]; [exact Hx|].
  apply IH, philox_words; [|exact Hx]. split; [apply low_below | now apply high_below].
Qed.

Lemma stream_words s domain n : right_seed s -> below (2^32) domain -> n <= 2^32 ->
  Forall (below (2^32)) (stream s domain n).
Proof.
  intros H Hd Hn. apply Forall_forall. intros x Hx. apply in_flat_map in Hx.
  destruct Hx as [j [Hj I]]. apply in_range in Hj.
  assert (B : four_words (block s domain j)) by (apply block_words; auto; unfold below in *; lia).
  destruct (block s domain j) as [[[a b] c] d]. destruct B as [[A B] [C D]].
  cbn in I. destruct I as [<- | [<- | [<- | [<- | []]]]]; assumption.
Qed.

Lemma wide_words words : Forall (below (2^32)) words -> Forall (below (2^64)) (wide words).
Proof.
  intros H.
  enough (E : forall n l, (length l <= n)%nat -> Forall (below (2^32)) l ->
    Forall (below (2^64)) (wide l)) by (eapply E; eauto).
  clear. induction n as [|n IH]; intros [|a [|b l]] L H; cbn in L |- *; try constructor; try lia.
  - inversion_clear H as [|? ? A H']. inversion_clear H' as [|? ? B H].
    unfold join, below in *. lia.
  - inversion_clear H as [|? ? A H']. inversion_clear H' as [|? ? B H]. apply IH; [lia | exact H].
Qed.

(** The words of 64 bits of a key stream are words of 64 bits. *)
Theorem key_stream_right s domain n : right_seed s -> below (2^32) domain -> n <= 2^32 ->
  Forall (below (2^64)) (wide (stream s domain n)).
Proof. intros. now apply wide_words, stream_words. Qed.

Lemma domain_exact_below n : below (2^32) (domain_exact n).
Proof.
  unfold domain_exact. set (x := n ^^ (n >> 31) ^^ (n >> 62)). clearbody x.
  assert (B := mod_below 31 x ltac:(lia)). apply below_shift; [lia|]. split.
  - apply Z.lor_nonneg. unfold below in B. lia.
  - rewrite Z.shiftr_lor. apply below_shift in B; [|lia].
    change 32 with (31 + 1). rewrite <- !Z.shiftr_shiftr by lia. destruct B as [_ ->]. reflexivity.
Qed.
