(** Chapter 4: exact draws by the method of Fisher and Yates, and the family [Table]. *)

From Proofs Require Export Words.

Fixpoint replace k x (v : list Z) :=
  match v, k with
  | [], _ => []
  | _ :: rest, O => x :: rest
  | y :: rest, S k => y :: replace k x rest
  end.

Definition exchange i j v := replace i (nth j v 0) (replace j (nth i v 0) v).

(** How many ranges [n], [n - 1], .. one word serves, and their product. *)
Fixpoint extend fuel n count product :=
  match fuel with
  | O => (count, product)
  | S fuel =>
    if (n - Z.of_nat count >? 1) && (product * (n - Z.of_nat count) <=? 2^56)
    then extend fuel n (S count) (product * (n - Z.of_nat count))
    else (count, product)
  end%bool.

(** No batch has more than 20 ranges, since the product of 20 is above [2^56]. *)
Definition batch n := extend 20 n 1 n.

Fixpoint serve count n w v :=
  match count with
  | O => v
  | S count =>
    let p := w * n in
    serve count (n - 1) (p mod 2^64) (exchange (Z.to_nat (n - 1)) (Z.to_nat (p / 2^64)) v)
  end.

(** The order, and the words that are left; nothing if there were not enough. *)
Fixpoint draw_from n words v :=
  if n >? 1 then
    match words with
    | [] => None
    | w :: rest =>
      let (count, product) := batch n in
      if (w * product) mod 2^64 >=? 2^64 mod product
      then draw_from (n - Z.of_nat count) rest (serve count n w v)
      else draw_from n rest v
    end
  else Some (v, words).

Definition draw m words := draw_from m words (range m).

(** A list as a map: slot [x] to [v[x]], and an index to its first place. *)
Fixpoint place_of y (v : list Z) :=
  match v with
  | [] => 0
  | x :: rest => if x =? y then 0 else 1 + place_of y rest
  end.

Definition table v := Maps (fun x => nth (Z.to_nat x) v 0) (fun y => place_of y v).

Lemma replace_length k x v : length (replace k x v) = length v.
Proof. revert k. induction v; intros [|k]; cbn; auto. Qed.

Lemma replace_nth k x v i : (k < length v)%nat ->
  nth i (replace k x v) 0 = if Nat.eqb i k then x else nth i v 0.
Proof.
  revert k i. induction v; intros [|k] [|i] H; cbn in *; auto; try lia. apply IHv. lia.
Qed.

Lemma exchange_permutation i j v :
  (i < length v)%nat -> (j < length v)%nat -> Permutation v (exchange i j v).
Proof.
  intros Hi Hj. unfold exchange. apply (Permutation_nth _ _ 0). cbn zeta.
  rewrite !replace_length. split; [reflexivity|].
  exists (fun k => if Nat.eqb k i then j else if Nat.eqb k j then i else k).
  unfold FinFun.bFun, FinFun.bInjective. repeat split.
  - intros x Hx. now destruct (Nat.eqb x i), (Nat.eqb x j).
  - intros x y Hx Hy.
    destruct (Nat.eqb_spec x i), (Nat.eqb_spec x j), (Nat.eqb_spec y i), (Nat.eqb_spec y j); lia.
  - intros x Hx. rewrite !replace_nth by now rewrite ?replace_length.
    now destruct (Nat.eqb x i), (Nat.eqb x j).
Qed.

Lemma serve_permutation count n w v :
  0 <= w < 2^64 -> Z.of_nat count <= n <= Z.of_nat (length v) -> Permutation v (serve count n w v).
Proof.
  revert n w v. induction count as [|count IH]; intros n w v Hw Hn; cbn [serve]; [reflexivity|].
  assert (P : Permutation v (exchange (Z.to_nat (n - 1)) (Z.to_nat (w * n / 2^64)) v)).
  { apply exchange_permutation; [lia|].
    assert (0 <= w * n / 2^64 < n); [|lia]. split.
    - apply Z.div_pos; [apply Z.mul_nonneg_nonneg; lia | lia].
    - apply Z.div_lt_upper_bound; [lia|]. apply Z.mul_lt_mono_pos_r; lia. }
  etransitivity; [apply P|]. apply IH.
  - apply Z.mod_pos_bound. lia.
  - apply Permutation_length in P. rewrite <- P. lia.
Qed.

Lemma extend_count fuel n count product :
  Z.of_nat count < n -> Z.of_nat (fst (extend fuel n count product)) < n.
Proof.
  revert count product. induction fuel; intros count product H; cbn [extend]; [assumption|].
  destruct (Z.gtb_spec (n - Z.of_nat count) 1), (Z.leb (product * (n - Z.of_nat count)) (2^56));
    cbn [andb]; auto. apply IHfuel. lia.
Qed.

(** Whatever the words are, what is drawn is a permutation. *)
Theorem draw_permutation m words v rest :
  Forall (below (2^64)) words -> draw m words = Some (v, rest) -> Permutation v (range m).
Proof.
  intros Hw. unfold draw. intros E.
  enough (P : forall n words u, Forall (below (2^64)) words -> n <= Z.of_nat (length u) ->
    draw_from n words u = Some (v, rest) -> Permutation u v).
  { destruct (Z.le_gt_cases 0 m).
    - symmetry. eapply P; eauto. rewrite range_length. lia.
    - destruct words; cbn [draw_from] in E; destruct (Z.gtb_spec m 1); try lia; now inversion E. }
  clear. intros n words. revert n.
  induction words as [|w words IH]; intros n u Hw Hn; cbn [draw_from];
    destruct (Z.gtb_spec n 1); intros E; try (now inversion E).
  unfold batch in E. pose proof (extend_count 20 n 1 n) as C.
  destruct (extend 20 n 1 n) as [count product]. cbn in C.
  inversion_clear Hw as [|? ? W0 W1].
  destruct ((w * product) mod 2^64 >=? 2^64 mod product).
  - assert (S : Permutation u (serve count n w u)) by (apply serve_permutation; [exact W0 | lia]).
    etransitivity; [apply S|]. eapply IH; [| |exact E]; auto.
    apply Permutation_length in S. rewrite <- S. lia.
  - eapply IH; [| |exact E]; auto.
Qed.

Lemma place_of_spec y v : In y v ->
  0 <= place_of y v < Z.of_nat (length v) /\ nth (Z.to_nat (place_of y v)) v 0 = y.
Proof.
  induction v as [|x v IH]; intros H; [destruct H|]. cbn [place_of length].
  destruct (Z.eqb_spec x y) as [-> | N].
  - split; [lia | reflexivity].
  - destruct H as [H | H]; [contradiction|]. destruct (IH H) as [A B].
    split; [lia|]. replace (Z.to_nat (1 + place_of y v)) with (S (Z.to_nat (place_of y v))) by lia.
    exact B.
Qed.

(** A list that has each point once is a bijection. *)
Theorem table_bijection m v : Permutation v (range m) -> bijection (below m) (table v).
Proof.
  intros P x Hx. cbn.
  assert (L : length v = Z.to_nat m) by now rewrite (Permutation_length P), range_length.
  assert (N : NoDup v) by (eapply Permutation_NoDup; [symmetry; apply P | apply range_nodup]).
  assert (B : forall y, In y v <-> below m y).
  { intros y. rewrite <- in_range. split; apply Permutation_in; [|symmetry]; exact P. }
  assert (I : In (nth (Z.to_nat x) v 0) v) by (apply nth_In; unfold below in Hx; lia).
  destruct (place_of_spec _ _ I) as [P1 P2].
  destruct (place_of_spec x v) as [Q1 Q2]; [now apply B|].
  repeat split.
  - now apply B.
  - now apply B.
  - apply (proj1 (NoDup_nth v 0) N) in P2; unfold below in Hx; lia.
  - apply Q1.
  - unfold below in *. lia.
  - exact Q2.
Qed.
