(** Proposition 1: compaction of a uniform permutation is uniform. In finite words: every order of
    [m] items comes from the same number of orders of [n] points, which is [n! / m!]. *)

From Proofs Require Export Compaction.

(** All orders of a list's items. *)
Fixpoint inserts (x : Z) l :=
  match l with
  | [] => [[x]]
  | y :: rest => (x :: l) :: map (cons y) (inserts x rest)
  end.

Fixpoint orders l :=
  match l with
  | [] => [[]]
  | x :: rest => flat_map (inserts x) (orders rest)
  end.

Definition same (p q : list Z) := if list_eq_dec Z.eq_dec p q then true else false.

(** How many orders of [n] points have the survivors [q]. *)
Definition sources n m q := length (filter (fun p => same (survivors m p) q) (orders (range n))).

Lemma in_inserts x l p : In p (inserts x l) <-> exists a b, l = a ++ b /\ p = a ++ x :: b.
Proof.
  revert p. induction l as [|y l IH]; intros p; cbn.
  - split.
    + intros [<- | []]. now exists [], [].
    + intros [[|] [b [E ->]]]; [|discriminate]. cbn in E. subst b. now left.
  - rewrite in_map_iff. split.
    + intros [<- | [q [<- Hq]]].
      * now exists [], (y :: l).
      * apply IH in Hq. destruct Hq as [a [b [-> ->]]]. now exists (y :: a), b.
    + intros [[|z a] [b [E ->]]]; cbn in *.
      * left. now subst b.
      * right. inversion E. subst. exists (a ++ x :: b). split; [reflexivity|].
        apply IH. now exists a, b.
Qed.

Lemma in_orders l p : In p (orders l) <-> Permutation l p.
Proof.
  revert p. induction l as [|x l IH]; intros p; cbn.
  - split.
    + intros [<- | []]. constructor.
    + intros H. left. symmetry. now apply Permutation_nil.
  - rewrite in_flat_map. split.
    + intros [q [Hq Hp]]. apply IH in Hq. apply in_inserts in Hp.
      destruct Hp as [a [b [-> ->]]]. now apply Permutation_cons_app.
    + intros H. destruct (in_split x p) as [a [b ->]].
      { apply (Permutation_in _ H). now left. }
      exists (a ++ b). split.
      * apply IH. now apply Permutation_cons_app_inv in H.
      * apply in_inserts. now exists a, b.
Qed.

Lemma nodup_flat_map {A B} (g : A -> list B) l : NoDup l ->
  (forall x, In x l -> NoDup (g x)) ->
  (forall x y z, In x l -> In y l -> In z (g x) -> In z (g y) -> x = y) -> NoDup (flat_map g l).
Proof.
  induction 1 as [|x l Hx N IH]; intros G D; cbn; [constructor|].
  apply nodup_app.
  - apply G. now left.
  - apply IH; [intros y I; apply G; now right | intros y z w I J; apply D; now right].
  - intros z I J. apply in_flat_map in J. destruct J as [y [J K]].
    apply Hx. rewrite (D x y z); cbn; auto.
Qed.

Lemma inserts_nodup x l : ~ In x l -> NoDup (inserts x l).
Proof.
  induction l as [|y l IH]; intros H; cbn.
  - constructor; [intros [] | constructor].
  - constructor.
    + rewrite in_map_iff. intros [q [E _]]. inversion E. apply H. now left.
    + apply map_nodup; [intros p q _ _ E; now inversion E|]. apply IH. intros I. apply H. now right.
Qed.

Lemma removed x l p : ~ In x l -> In p (inserts x l) -> filter (fun y => negb (y =? x)) p = l.
Proof.
  intros H I. apply in_inserts in I. destruct I as [a [b [-> ->]]].
  assert (K : forall l, ~ In x l -> filter (fun y => negb (y =? x)) l = l).
  { induction l as [|y l IH]; intros N; cbn; [reflexivity|].
    destruct (Z.eqb_spec y x) as [-> | D]; [destruct N; now left|].
    cbn. rewrite IH; [reflexivity | intros J; apply N; now right]. }
  rewrite filter_app. cbn. rewrite Z.eqb_refl. cbn.
  rewrite !K; [reflexivity | |]; intros J; apply H; rewrite in_app_iff; auto.
Qed.

Lemma orders_nodup l : NoDup l -> NoDup (orders l).
Proof.
  induction 1 as [|x l Hx N IH]; cbn; [repeat constructor; intros [] |].
  assert (O : forall p, In p (orders l) -> ~ In x p).
  { intros p Hp Hi. apply Hx. apply in_orders in Hp.
    now apply (Permutation_in _ (Permutation_sym Hp)). }
  apply nodup_flat_map; auto.
  - intros p Hp. apply inserts_nodup. auto.
  - intros p q r Hp Hq I J. apply removed in I, J; auto. now rewrite <- I, <- J.
Qed.

Lemma inserts_length x l : length (inserts x l) = S (length l).
Proof. induction l; cbn; [reflexivity|]. now rewrite map_length, IHl. Qed.

Lemma orders_length l : length (orders l) = fact (length l).
Proof.
  induction l as [|x l IH]; [reflexivity|]. cbn [orders length fact]. rewrite <- IH. clear IH.
  assert (E : forall p, In p (orders l) -> length p = length l).
  { intros p Hp. apply in_orders in Hp. symmetry. now apply Permutation_length. }
  induction (orders l) as [|p ps IHp]; cbn [flat_map length]; [lia|].
  rewrite app_length, inserts_length, (E p) by now left.
  rewrite IHp by (intros q I; apply E; now right). lia.
Qed.

Lemma same_true p q : same p q = true <-> p = q.
Proof. unfold same. destruct (list_eq_dec Z.eq_dec p q); split; congruence. Qed.

(** A list as the values of its table *)
Lemma table_values m v : length v = Z.to_nat m -> map (forward (table v)) (range m) = v.
Proof.
  intros L. unfold range. rewrite map_map, <- L. clear L m. cbn.
  induction v as [|x v IH]; cbn; [reflexivity|]. f_equal.
  rewrite <- seq_shift, map_map. etransitivity; [|exact IH]. apply map_ext. intros k.
  now rewrite !Nat2Z.id.
Qed.

(** Other names for the items: [q] becomes [q'], and the points that do not survive stay. *)
Definition relabel m q q' := extended m (compose (opposite (table q)) (table q')).

Lemma survivors_map m n s p : (forall x, below n x -> (forward s x <? m) = (x <? m)) ->
  Forall (below n) p -> survivors m (map (forward s) p) = map (forward s) (survivors m p).
Proof.
  unfold survivors. intros H. induction 1 as [|x p Hx _ IH]; [reflexivity|]. cbn.
  rewrite H by exact Hx.
  destruct (x <? m); cbn; now rewrite IH.
Qed.

Lemma sources_le n m q q' : 0 <= m <= n ->
  Permutation (range m) q -> Permutation (range m) q' -> (sources n m q <= sources n m q')%nat.
Proof.
  intros Hm Hq Hq'. unfold sources. set (s := relabel m q q').
  assert (Tq := table_bijection m q (Permutation_sym Hq)).
  assert (Tq' := table_bijection m q' (Permutation_sym Hq')).
  assert (C : bijection (below m) (compose (opposite (table q)) (table q'))).
  { apply compose_bijection; [now apply opposite_bijection | exact Tq']. }
  assert (B : bijection (below n) s) by (apply extended_bijection; [lia | exact C]).
  assert (K : forall x, below n x -> (forward s x <? m) = (x <? m)).
  { intros x Hx. cbn. destruct (Z.ltb_spec x m) as [L|L]; [|destruct (Z.ltb_spec x m); lia].
    destruct (C x) as [[D _] _]; [unfold below in *; lia|]. cbn in D. unfold below in D.
    apply Z.ltb_lt. lia. }
  assert (P : forall p, In p (orders (range n)) -> Forall (below n) p).
  { intros p Hp. apply in_orders in Hp. apply Forall_forall. intros x Hx. apply in_range.
    now apply (Permutation_in _ (Permutation_sym Hp)). }
  assert (E : map (forward s) q = q').
  { assert (Lq : length q = Z.to_nat m) by (now rewrite <- (Permutation_length Hq), range_length).
    assert (Lq' : length q' = Z.to_nat m)
      by (now rewrite <- (Permutation_length Hq'), range_length).
    rewrite <- (table_values m q Lq) at 1. rewrite <- (table_values m q' Lq').
    rewrite map_map. apply map_ext_in. intros i Hi. apply in_range in Hi.
    destruct (Tq i Hi) as [[A1 A2] _]. unfold s, relabel, extended, compose, opposite.
    cbn [forward inverse]. unfold below in A1. rewrite A2.
    destruct (Z.ltb_spec (forward (table q) i) m); [reflexivity | lia]. }
  rewrite <- (map_length (map (forward s))). apply NoDup_incl_length.
  - apply map_nodup; [|apply NoDup_filter, orders_nodup, range_nodup].
    intros x y Hx Hy Exy. apply filter_In in Hx, Hy. destruct Hx as [Hx _], Hy as [Hy _].
    apply (f_equal (map (inverse s))) in Exy. rewrite !map_map in Exy.
    rewrite <- (map_id x), <- (map_id y).
    rewrite <- (map_ext_in (fun z => inverse s (forward s z))) at 1.
    + rewrite Exy. apply map_ext_in. intros z Hz. apply B.
      apply P in Hy. rewrite Forall_forall in Hy. auto.
    + intros z Hz. apply B. apply P in Hx. rewrite Forall_forall in Hx. auto.
  - intros r Hr. apply in_map_iff in Hr. destruct Hr as [p [<- Hp]].
    apply filter_In in Hp. destruct Hp as [Hp S]. apply same_true in S.
    apply filter_In. split.
    + apply in_orders. apply in_orders in Hp.
      etransitivity; [symmetry; apply (values_permutation n s B)|]. now apply Permutation_map.
    + apply same_true. rewrite (survivors_map m n s p K (P p Hp)), S. exact E.
Qed.

(** Each order of the items comes from as many orders of the points as any other. *)
Theorem compaction_uniform n m q q' : 0 <= m <= n ->
  Permutation (range m) q -> Permutation (range m) q' -> sources n m q = sources n m q'.
Proof. intros Hm Hq Hq'. apply Nat.le_antisymm; now apply sources_le. Qed.

Lemma filter_all {A} (g : A -> list Z) qs ps : NoDup qs ->
  (forall p, In p ps -> In (g p) qs) ->
  length ps = list_sum (map (fun q => length (filter (fun p => same (g p) q) ps)) qs).
Proof.
  intros N. induction ps as [|p ps IH]; intros H.
  - cbn. clear. induction qs; cbn; auto.
  - cbn [length]. rewrite IH by (intros r I; apply H; now right).
    assert (I : In (g p) qs) by (apply H; now left). clear H IH.
    induction N as [|q qs Hq N IHq]; [destruct I|]. cbn [map list_sum filter fold_right].
    unfold list_sum in *. cbn [fold_right].
    destruct (same (g p) q) eqn:E.
    + apply same_true in E. subst q. cbn [length].
      replace (map (fun q => length (if same (g p) q then p :: filter (fun r => same (g r) q) ps
        else filter (fun r => same (g r) q) ps)) qs)
        with (map (fun q => length (filter (fun r => same (g r) q) ps)) qs); [lia|].
      apply map_ext_in. intros q Iq. destruct (same (g p) q) eqn:E; [|reflexivity].
      apply same_true in E. subst q. contradiction.
    + destruct I as [I | I].
      * subst q. destruct (same (g p) (g p)) eqn:F; [discriminate|].
        assert (same (g p) (g p) = true) by now apply same_true. congruence.
      * specialize (IHq I). cbn [filter] in IHq. lia.
Qed.

(** And that number is [n! / m!]. *)
Theorem compaction_count n m q : 0 <= m <= n -> Permutation (range m) q ->
  (fact (Z.to_nat m) * sources n m q = fact (Z.to_nat n))%nat.
Proof.
  intros Hm Hq. rewrite <- (range_length n), <- (orders_length (range n)).
  rewrite (filter_all (survivors m) (orders (range m))).
  - rewrite <- (range_length m), <- (orders_length (range m)).
    assert (E : forall r, In r (orders (range m)) -> Permutation (range m) r)
      by (intros r; apply in_orders).
    fold (sources n m). induction (orders (range m)) as [|r rs IH]; [reflexivity|].
    cbn [map length list_sum fold_right]. unfold list_sum in *. cbn [fold_right].
    rewrite <- IH by (intros s I; apply E; now right).
    fold (sources n m r). rewrite (compaction_uniform n m r q Hm (E r (or_introl eq_refl)) Hq). lia.
  - apply orders_nodup, range_nodup.
  - intros p Hp. apply in_orders in Hp. apply in_orders.
    rewrite <- (survivors_range n m) by exact Hm. now apply filter_permutation.
Qed.
