(** What a seed gives: the families of chapter 5, the orders of chapters 6 and 7.

    A family is a number of points and a map on them, for a seed and a length. *)

From Proofs Require Export Keys MulXorshift Grid Affine Walk Compaction Shares Blocks.

Definition mul_xorshift_of rounds s length :=
  let b := Z.max 2 (bits length) in
  (2^b, mul_xorshift b (mul_xorshift_key b (wide (stream s (domain_width (bits length)) rounds)))).

Definition variable_philox_of s length :=
  let b := Z.max 2 (bits length) in
  (2^b, variable_philox b (stream s (domain_width (bits length)) 6)).

(** The word after the family's key decides the sign. *)
Definition random_sign_of s length :=
  let b := Z.max 2 (bits length) in
  let words := stream s (domain_width (bits length)) 7 in
  (2^b, random_sign (nth 24 words 0) (2^b) (variable_philox b (firstn 24 words))).

Fixpoint fours (words : list Z) :=
  match words with
  | p :: q :: t :: u :: rest => (p, q, t, u) :: fours rest
  | _ => []
  end.

Definition grid_of s length :=
  let points := grid_rows length * 2^grid_j length in
  (points, grid (grid_rows length) (grid_j length) (grid_w length)
    (fours (stream s (domain_exact (points - 1)) 12))).

Definition lcg_of s length :=
  let b := Z.max 1 (bits length) in
  let words := wide (stream s (domain_width (bits length)) 1) in
  (2^b, affine b (make_odd (nth 0 words 0) mod 2^b) (nth 1 words 0 mod 2^b)).

(** More words than any seed of the vectors takes. *)
Definition affine_words s length :=
  wide (stream s (domain_width (bits length)) (bits length / 2 + 16)).
Definition affine_of s length :=
  (2 ^ bits length, affine_drawn (bits length) (affine_words s length)).

(** The words are more than any seed of the vectors takes. If they were too few, the table would be
    empty, and a vector would show it. *)
Definition table_of s length :=
  match draw length (wide (stream s (domain_exact length) (length / 4 + 8))) with
  | Some (v, _) => (Z.max 1 length, table (if length =? 0 then [0] else v))
  | None => (Z.max 1 length, table [])
  end.

(** The default family. *)
Definition standard s length :=
  if length <=? 256 then table_of s length else mul_xorshift_of 10 s length.

(** [Permutation::new] of a family, and of the default one. *)
Definition order_of family (s : seed) length :=
  let '(n, f) := family s length in compact f n length.

(** [CycleWalk] of a family. *)
Definition walk_of family (s : seed) length :=
  let '(n, f) := family s length in (Z.max 1 length, cycle_walk (Z.max 1 length) n f).

(** [BlockShuffle] of the default family: every window has an epoch of its own. *)
Definition block_shuffle_of s length block window :=
  let child := child s domain_blocks in
  let outer := snd (walk_of standard child (blocks length block)) in
  let inner w := snd (walk_of standard (at_epoch child (w + 1))
    (window_length length block window outer w)) in
  block_shuffle length block window outer inner.

(** A bijection with room for the length; and a family that gives one for every seed and length. *)
Definition right (family : seed -> Z -> Z * maps Z) s length :=
  let '(n, f) := family s length in length <= n /\ bijection (below n) f.

Definition right_family family := forall s length, 0 <= length <= 2^64 -> right family s length.

Theorem mul_xorshift_of_right rounds : right_family (mul_xorshift_of rounds).
Proof.
  intros s length H. unfold right, mul_xorshift_of.
  edestruct mul_xorshift_family_bijection as [B L]; [apply H | split; [exact L | exact B]].
Qed.

Lemma power_room low length : length <= 2 ^ Z.max low (bits length).
Proof.
  pose proof (bits_above length). pose proof (bits_nonneg length).
  pose proof (Z.pow_le_mono_r 2 (bits length) (Z.max low (bits length))). lia.
Qed.

Theorem variable_philox_of_right : right_family variable_philox_of.
Proof.
  intros s length H. unfold right, variable_philox_of.
  pose proof (bits_le64 length). pose proof (bits_nonneg length).
  split; [apply power_room | apply variable_philox_bijection; lia].
Qed.

Theorem random_sign_of_right : right_family random_sign_of.
Proof.
  intros s length H. unfold right, random_sign_of.
  pose proof (bits_le64 length). pose proof (bits_nonneg length).
  split; [apply power_room | apply random_sign_bijection, variable_philox_bijection; lia].
Qed.

Theorem grid_of_right : right_family grid_of.
Proof.
  intros s length H. unfold right, grid_of.
  edestruct grid_family_bijection as [B L]; [apply H | split; [exact L | exact B]].
Qed.

Theorem lcg_of_right : right_family lcg_of.
Proof.
  intros s length H. unfold right, lcg_of.
  pose proof (bits_le64 length). pose proof (bits_nonneg length).
  split; [apply power_room|]. apply affine_bijection; [lia|].
  unfold odd. replace (2 ^ Z.max 1 (bits length)) with (2 ^ (1 + (Z.max 1 (bits length) - 1)))
    by (f_equal; lia).
  rewrite Z.pow_add_r by lia. change (2^1) with 2.
  pose proof (pow2_pos (Z.max 1 (bits length) - 1)).
  rewrite Z.rem_mul_r, (Z.mul_comm 2), Z.mod_add, Z.mod_mod by lia. apply make_odd_odd.
Qed.

(** [Affine], if there were words for all columns. *)
Theorem affine_of_right s n :
  Z.of_nat (length (fst (fst (draw_columns (bits n) 0 (affine_words s n) [])))) = bits n ->
  right affine_of s n.
Proof.
  intros E. split; [apply bits_above|].
  apply affine_drawn_bijection; [apply bits_nonneg | exact E].
Qed.

(** The default family, and [Table]: where the draw ends. *)
Definition draw_ends s length :=
  draw length (wide (stream s (domain_exact length) (length / 4 + 8))) <> None.

Theorem table_of_right s length : right_seed s -> 0 <= length <= 2^33 -> draw_ends s length ->
  bijection (below (Z.max 1 length)) (snd (table_of s length)).
Proof.
  intros Hs L D. unfold draw_ends in D. unfold table_of.
  destruct (draw length _) as [[v rest]|] eqn:E; [|now contradiction D]. cbn [snd].
  apply table_bijection. destruct (Z.eqb_spec length 0) as [-> | N]; [reflexivity|].
  rewrite Z.max_r by lia. eapply draw_permutation; [|exact E].
  apply key_stream_right; [exact Hs | apply domain_exact_below|].
  pose proof (Z.div_lt_upper_bound length 4 (2^31 + 1)). lia.
Qed.

Theorem standard_right s length : right_seed s -> 0 <= length <= 2^64 ->
  (length <= 256 -> draw_ends s length) -> right standard s length.
Proof.
  intros Hs L D. unfold right, standard. destruct (Z.leb_spec length 256) as [S | B].
  - pose proof (table_of_right s length Hs ltac:(lia) (D S)) as T. unfold table_of in *.
    destruct (draw length _) as [[v rest]|]; (split; [lia | exact T]).
  - exact (mul_xorshift_of_right 10 s length L).
Qed.

(** Whatever is right gives an order: the compaction has each index once. *)
Theorem order_of_right family s length : right family s length -> 0 <= length ->
  Permutation (order_of family s length) (range length).
Proof.
  intros H L. unfold right in H. unfold order_of. destruct (family s length) as [n f].
  destruct H as [Hl Hf]. apply compact_permutation; [exact Hf | lia].
Qed.

(** And it walks: random access to an order of exactly the length. *)
Theorem walk_of_right family s length : right family s length -> 1 <= length ->
  bijection (below length) (snd (walk_of family s length)).
Proof.
  intros H L. unfold right in H. unfold walk_of.
  destruct (family s length) as [n f]. destruct H as [Hl Hf]. cbn [snd].
  rewrite Z.max_r by lia. now apply cycle_walk_bijection.
Qed.

(** Digests of long lists, so that a vector compares all of their words. *)
Definition fnv digest byte := Z.land (0x100000001b3 * (digest ^^ byte)) (2^64 - 1).
Fixpoint fnv_bytes count digest x :=
  match count with
  | O => digest
  | S count => fnv_bytes count (fnv digest (Z.land x 255)) (x >> 8)
  end.
Definition digest words := fold_left (fnv_bytes 8) words 0xcbf29ce484222325.

(** What the vectors check. Inverses take long, so three of a case are checked. *)
Definition equal (p q : list Z) := if list_eq_dec Z.eq_dec p q then true else false.

Definition check_points (family : seed -> Z -> Z * maps Z) '(s, length, last, slots, indexes) :=
  let '(n, f) := family s length in
  ((n =? last + 1) && equal (map (forward f) slots) indexes &&
    equal (map (inverse f) (firstn 3 indexes)) (firstn 3 slots))%bool.

(** The first indexes of an order, and the digest of all. *)
Definition check_list l '(head, expected) :=
  (equal (firstn (length head) l) head && (digest l =? expected))%bool.

Definition check_order family '(s, length, expected) :=
  check_list (order_of family s length) expected.

Definition check_walk family '(s, length, expected) :=
  let '(n, f) := walk_of family s length in check_list (map (forward f) (range length)) expected.

(** A rank's batches of an epoch, of an order that is shuffled or not. *)
Definition check_batches '(s, shuffled, e, t, length, ranks, batch, rank, expected) :=
  let f := if shuffled : bool then snd (walk_of standard (at_epoch s e) length) else identity in
  let dealt := map (map (forward f)) (batches t length ranks batch (Z.to_nat length) 0 rank) in
  if list_eq_dec (list_eq_dec Z.eq_dec) (filter (fun l => negb (equal l [])) dealt)
       (filter (fun l => negb (equal l [])) expected) then true else false.
