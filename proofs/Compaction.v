(** Chapter 6: algorithm 1 of the paper and its proposition 1.

    The order is a list of indexes: the survivors, in the order of their slots. *)

From Proofs Require Export Table.

Definition survivors m (values : list Z) := filter (fun index => index <? m) values.

Definition compact f n m := survivors m (map (forward f) (range n)).

(** How many slots before [i] survive. *)
Definition rank f m i := Z.of_nat (length (compact f i m)).

Lemma filter_permutation {A} (p : A -> bool) l l' :
  Permutation l l' -> Permutation (filter p l) (filter p l').
Proof.
  induction 1; cbn; auto.
  - destruct (p x); auto.
  - destruct (p x), (p y); auto. constructor.
  - etransitivity; eauto.
Qed.

Lemma survivors_range n m : 0 <= m <= n -> survivors m (range n) = range m.
Proof.
  intros H. unfold survivors, range.
  replace (Z.to_nat n) with (Z.to_nat m + Z.to_nat (n - m))%nat by lia.
  rewrite seq_app, map_app, filter_app. cbn [Nat.add].
  assert (A : forall l, (forall x, In x l -> x < m) -> filter (fun x => x <? m) l = l).
  { induction l as [|x l IH]; intros B; cbn; [reflexivity|].
    destruct (Z.ltb_spec x m) as [|L]; [|specialize (B x (or_introl eq_refl)); lia].
    rewrite IH; [reflexivity | intros y Hy; apply B; now right]. }
  assert (N : forall l, (forall x, In x l -> m <= x) -> filter (fun x => x <? m) l = []).
  { induction l as [|x l IH]; intros B; cbn; [reflexivity|].
    destruct (Z.ltb_spec x m) as [L|]; [specialize (B x (or_introl eq_refl)); lia|].
    apply IH. intros y Hy; apply B; now right. }
  rewrite A, N, app_nil_r; [reflexivity | |]; intros x Hx; apply in_map_iff in Hx;
    destruct Hx as [k [<- Hk]]; apply in_seq in Hk; lia.
Qed.

(** Algorithm 1 gives each index once. *)
Theorem compact_permutation f n m :
  bijection (below n) f -> 0 <= m <= n -> Permutation (compact f n m) (range m).
Proof.
  intros H Hm. unfold compact. rewrite <- (survivors_range n m) by exact Hm.
  apply filter_permutation. now apply values_permutation.
Qed.

Lemma range_split n i : 0 <= i <= n ->
  range n = range i ++ map (fun x => i + x) (range (n - i)).
Proof.
  intros H. unfold range. replace (Z.to_nat n) with (Z.to_nat i + Z.to_nat (n - i))%nat by lia.
  rewrite seq_app, map_app. f_equal. rewrite map_map. cbn [Nat.add].
  replace (seq (Z.to_nat i) (Z.to_nat (n - i)))
    with (map (fun k => Z.to_nat i + k)%nat (seq 0 (Z.to_nat (n - i)))).
  - rewrite map_map. apply map_ext. intros a. lia.
  - induction (Z.to_nat i) as [|a IH]; [now rewrite map_id|].
    rewrite <- seq_shift, <- IH, map_map. reflexivity.
Qed.

(** The survivors before a slot that survives come before its own index. *)
Lemma compact_split f n m i : 0 <= i < n -> forward f i < m ->
  exists rest, compact f n m = compact f i m ++ forward f i :: rest.
Proof.
  intros Hi Hs. unfold compact. rewrite (range_split n i) by lia.
  unfold survivors at 1. rewrite map_app, filter_app.
  exists (survivors m (map (forward f) (map (fun x => i + x) (map Z.of_nat
    (seq 1 (Z.to_nat (n - i - 1))))))).
  unfold range at 2. replace (Z.to_nat (n - i)) with (S (Z.to_nat (n - i - 1))) by lia.
  cbn [seq map filter]. replace (i + Z.of_nat 0) with i by lia.
  destruct (Z.ltb_spec (forward f i) m); [reflexivity | lia].
Qed.

(** The formula with ranks: the item of slot [i] goes to the place [rank(i)]. *)
Theorem compact_rank f n m i : 0 <= i < n -> forward f i < m ->
  nth (Z.to_nat (rank f m i)) (compact f n m) 0 = forward f i.
Proof.
  intros Hi Hs. destruct (compact_split f n m i Hi Hs) as [rest ->]. unfold rank.
  rewrite Nat2Z.id, app_nth2, Nat.sub_diag by lia. reflexivity.
Qed.

(** So an index is at the place that is the rank of its slot: where an un-shuffle finds it. *)
Theorem compact_place f n m index : bijection (below n) f -> 0 <= m <= n -> below m index ->
  place_of index (compact f n m) = rank f m (inverse f index).
Proof.
  intros H Hm Hx. assert (Hn : below n index) by (unfold below in *; lia).
  destruct (H _ Hn) as [_ [S1 S2]].
  pose proof (compact_permutation f n m H Hm) as P.
  pose proof (table_bijection m _ P) as T.
  assert (V : forward f (inverse f index) < m) by (rewrite S2; apply Hx).
  pose proof (compact_rank f n m _ S1 V) as R. rewrite S2 in R.
  assert (B : below m (rank f m (inverse f index))).
  { destruct (compact_split f n m _ S1 V) as [rest E]. apply Permutation_length in P.
    rewrite E, app_length, range_length in P. cbn [length] in P. unfold rank, below. lia. }
  destruct (T _ B) as [[_ E] _]. cbn in E. now rewrite R in E.
Qed.

(** A shorter order of the same bijection is a longer one without the indexes that are too large. *)
Theorem compact_shorter f n m k : k <= m -> compact f n k = survivors k (compact f n m).
Proof.
  intros H. unfold compact, survivors.
  induction (map (forward f) (range n)) as [|x l IH]; [reflexivity|].
  cbn. destruct (Z.ltb_spec x m), (Z.ltb_spec x k) as [L | L]; cbn; rewrite ?IH; try lia; auto.
  - destruct (Z.ltb_spec x k); [reflexivity | lia].
  - destruct (Z.ltb_spec x k); [lia | reflexivity].
Qed.
