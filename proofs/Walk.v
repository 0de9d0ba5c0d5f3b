(** Chapter 7: a walk along the cycles of a bijection restricts it to fewer points. *)

From Proofs Require Export Words.

Lemma iter_succ_r {A} k (f : A -> A) x : Nat.iter (S k) f x = Nat.iter k f (f x).
Proof. induction k as [|k IH]; [reflexivity|]. cbn in *. now rewrite IH. Qed.

Lemma iter_succ {A} k (f : A -> A) x : Nat.iter (S k) f x = f (Nat.iter k f x).
Proof. reflexivity. Qed.

Section Walk.
  Variable m : Z.

  (** Applies [f] until the value is below [m], but no more than [steps] times. A number of steps
      up to [2^64] is counted in binary here, so that the definition can be run. *)
  Fixpoint until (f : Z -> Z) (steps : positive) x :=
    if x <? m then x else
    match steps with
    | xH => f x
    | xO p => until f p (until f p x)
    | xI p => until f p (until f p (f x))
    end.

  (** At least one step, and then no more than there are points outside. *)
  Definition walk n (f : Z -> Z) x :=
    match n - m with
    | Zpos steps => until f steps (f x)
    | _ => f x
    end.

  Definition cycle_walk n f := Maps (walk n (forward f)) (walk n (inverse f)).

  (** The same with the steps counted one by one. *)
  Fixpoint until_each f (steps : nat) x :=
    if x <? m then x else match steps with O => x | S k => until_each f k (f x) end.

  Lemma until_each_inside f k x : x < m -> until_each f k x = x.
  Proof. intros H. destruct k; cbn; destruct (Z.ltb_spec x m); auto; lia. Qed.

  Lemma until_each_add f a b x : until_each f (a + b) x = until_each f b (until_each f a x).
  Proof.
    revert x. induction a as [|a IH]; intros x; cbn [Nat.add until_each].
    - now destruct (x <? m).
    - destruct (Z.ltb_spec x m); [now rewrite until_each_inside | apply IH].
  Qed.

  Lemma until_is_each f p x : until f p x = until_each f (Pos.to_nat p) x.
  Proof.
    revert x. induction p as [p IH | p IH |]; intros x.
    - rewrite Pos2Nat.inj_xI. cbn [until until_each]. destruct (x <? m) eqn:E; [reflexivity|].
      replace (2 * Pos.to_nat p)%nat with (Pos.to_nat p + Pos.to_nat p)%nat by lia.
      now rewrite until_each_add, !IH.
    - rewrite Pos2Nat.inj_xO.
      replace (2 * Pos.to_nat p)%nat with (Pos.to_nat p + Pos.to_nat p)%nat by lia.
      rewrite until_each_add. cbn [until]. destruct (Z.ltb_spec x m).
      + now rewrite !until_each_inside by (rewrite ?until_each_inside; lia).
      + now rewrite !IH.
    - change (Pos.to_nat 1) with 1%nat. cbn. destruct (x <? m) eqn:E; [reflexivity|].
      now destruct (f x <? m).
  Qed.

  Lemma walk_is_each n f x : m <= n -> walk n f x = until_each f (Z.to_nat (n - m)) (f x).
  Proof.
    intros H. unfold walk. destruct (n - m) eqn:E; try lia.
    - cbn. now destruct (f x <? m).
    - apply until_is_each.
  Qed.

  (** From [x] the walk comes to [y] with [k + 1] steps, and is outside until then. *)
  Definition walks f k x y :=
    Nat.iter (S k) f x = y /\ y < m /\ forall i, (i < k)%nat -> m <= Nat.iter (S i) f x.

  Lemma until_each_walks f k x y steps : (k <= steps)%nat -> walks f k x y ->
    until_each f steps (f x) = y.
  Proof.
    revert x steps. induction k as [|k IH]; intros x steps L [E [Y O]].
    - cbn in E. subst y. now apply until_each_inside.
    - destruct steps as [|steps]; [lia|]. cbn [until_each].
      destruct (Z.ltb_spec (f x) m) as [I | I].
      + specialize (O 0%nat ltac:(lia)). cbn in O. lia.
      + apply (IH (f x)); [lia|]. repeat split; auto.
        * rewrite <- E. now rewrite (iter_succ_r (S k)).
        * intros i Hi. rewrite <- iter_succ_r. apply O. lia.
  Qed.
End Walk.

Lemma iter_below n f k x : bijection (below n) f -> below n x ->
  below n (Nat.iter k (forward f) x).
Proof. intros H Hx. induction k; [exact Hx | now apply H]. Qed.

(** Steps back undo steps. *)
Lemma iter_back n f k i x : bijection (below n) f -> below n x -> (i <= k)%nat ->
  Nat.iter i (inverse f) (Nat.iter k (forward f) x) = Nat.iter (k - i) (forward f) x.
Proof.
  intros H Hx. revert k. induction i as [|i IH]; intros k L; [now rewrite Nat.sub_0_r|].
  rewrite iter_succ, IH by lia. replace (k - i)%nat with (S (k - S i)) by lia. rewrite iter_succ.
  now apply H, iter_below.
Qed.

(** The walk ends: there are only [n - m] points outside, and none can come twice. *)
Lemma walk_ends n m f x : bijection (below n) f -> m <= n -> below m x ->
  exists k, (k <= Z.to_nat (n - m))%nat /\ walks m (forward f) k x (Nat.iter (S k) (forward f) x).
Proof.
  intros H Hm Hx. assert (Hn : below n x) by (unfold below in *; lia).
  set (g := forward f).
  assert (D : forall b, (exists k, (k < b)%nat /\ walks m g k x (Nat.iter (S k) g x)) \/
    forall i, (i < b)%nat -> m <= Nat.iter (S i) g x).
  { induction b as [|b IH]; [right; lia|]. destruct IH as [[k [L W]] | O].
    - left. exists k. split; [lia | exact W].
    - destruct (Z.lt_ge_cases (Nat.iter (S b) g x) m) as [I | I].
      + left. exists b. repeat split; auto; lia.
      + right. intros i Hi. destruct (Nat.eq_dec i b) as [-> | N]; [exact I | apply O; lia]. }
  destruct (D (S (Z.to_nat (n - m)))) as [[k [L W]] | O].
  - exists k. split; [lia | exact W].
  - exfalso.
    set (visited := map (fun i => Nat.iter (S i) g x) (seq 0 (S (Z.to_nat (n - m))))).
    set (outside := map (fun i => m + Z.of_nat i) (seq 0 (Z.to_nat (n - m)))).
    assert (N : NoDup visited).
    { apply map_nodup; [|apply seq_NoDup].
      assert (T : forall i j, (i < j)%nat -> (j < S (Z.to_nat (n - m)))%nat ->
        Nat.iter (S i) g x = Nat.iter (S j) g x -> False).
      { intros i j Lij Lj E.
        apply (f_equal (Nat.iter (S i) (inverse f))) in E.
        unfold g in E. rewrite !(iter_back n) in E by (auto; lia).
        replace (S i - S i)%nat with 0%nat in E by lia.
        replace (S j - S i)%nat with (S (j - i - 1)) in E by lia.
        specialize (O (j - i - 1)%nat ltac:(lia)). unfold g in O.
        rewrite <- E in O. cbn in O. unfold below in Hx. lia. }
      intros i j Hi Hj E. apply in_seq in Hi, Hj.
      destruct (Nat.lt_trichotomy i j) as [L | [L | L]]; auto; exfalso; eapply T; eauto; lia. }
    assert (I : incl visited outside).
    { intros y Hy. apply in_map_iff in Hy. destruct Hy as [i [<- Hi]]. apply in_seq in Hi.
      specialize (O i ltac:(lia)). pose proof (iter_below n f (S i) x H Hn) as B.
      apply in_map_iff. exists (Z.to_nat (Nat.iter (S i) g x - m)).
      rewrite in_seq. fold g in B. unfold below in B. lia. }
    apply NoDup_incl_length in I; [|exact N].
    unfold visited, outside in I. rewrite !map_length, !seq_length in I. lia.
Qed.

(** The way back is the same walk. *)
Lemma walks_back n m f k x y : bijection (below n) f -> m <= n -> below m x ->
  walks m (forward f) k x y -> walks m (inverse f) k y x.
Proof.
  intros H Hm Hx [E [Y O]]. assert (Hn : below n x) by (unfold below in *; lia). subst y.
  repeat split.
  - rewrite (iter_back n) by auto. now rewrite Nat.sub_diag.
  - unfold below in Hx. lia.
  - intros i Hi. rewrite (iter_back n) by (auto; lia).
    replace (S k - S i)%nat with (S (k - i - 1)) by lia. apply O. lia.
Qed.

Lemma walk_cancels n m f x : bijection (below n) f -> m <= n -> below m x ->
  let y := walk m n (forward f) x in below m y /\ walk m n (inverse f) y = x.
Proof.
  intros H Hm Hx. destruct (walk_ends n m f x H Hm Hx) as [k [L W]].
  cbn zeta. rewrite !walk_is_each by exact Hm.
  rewrite (until_each_walks m _ k _ _ _ L W). split.
  - assert (B : below n (Nat.iter (S k) (forward f) x)).
    { apply iter_below; auto. unfold below in *; lia. }
    destruct W as [_ [B' _]]. unfold below in *. lia.
  - now apply (until_each_walks m _ k _ _ _ L), (walks_back n).
Qed.

(** Cycle walking is a bijection of the smaller set, and takes at most [n - m + 1] steps. *)
Theorem cycle_walk_bijection n m f :
  bijection (below n) f -> m <= n -> bijection (below m) (cycle_walk m n f).
Proof.
  intros H Hm x Hx. split.
  - apply (walk_cancels n m f x H Hm Hx).
  - apply (walk_cancels n m (opposite f) x); auto. now apply opposite_bijection.
Qed.
