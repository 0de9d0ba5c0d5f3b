(** What a bijection is: two maps, each of which undoes the other on a set of points. *)

From Coq Require Export ZArith Lia List Permutation.
Export ListNotations.
Global Open Scope Z_scope.

(** A map with the map that is to undo it. *)
Record maps (A : Type) := Maps { forward : A -> A; inverse : A -> A }.
Arguments Maps {A}.
Arguments forward {A}.
Arguments inverse {A}.

(** Both maps stay on the points [D], and each undoes the other there. *)
Definition bijection {A} (D : A -> Prop) (f : maps A) :=
  forall x, D x ->
    (D (forward f x) /\ inverse f (forward f x) = x) /\
    (D (inverse f x) /\ forward f (inverse f x) = x).

(** The domain [[0, n)]. *)
Definition below n x := 0 <= x < n.

(** The first map, then the second one. *)
Definition compose {A} (f g : maps A) :=
  Maps (fun x => forward g (forward f x)) (fun x => inverse f (inverse g x)).

Definition identity {A} : maps A := Maps (fun x => x) (fun x => x).

(** A list of maps, one after the other. *)
Definition chain {A} (steps : list (maps A)) := fold_right compose identity steps.

(** The map the other way. *)
Definition opposite {A} (f : maps A) := Maps (inverse f) (forward f).

(** A map on the points below [m], as a map that leaves all other points alone. *)
Definition extended m (f : maps Z) :=
  Maps (fun x => if x <? m then forward f x else x) (fun x => if x <? m then inverse f x else x).

(** The same map under other names: [name] and [value] translate between points and names. *)
Definition renamed {A B} (name : A -> B) (value : B -> A) (f : maps B) :=
  Maps (fun x => value (forward f (name x))) (fun x => value (inverse f (name x))).

Theorem compose_bijection {A} (D : A -> Prop) f g :
  bijection D f -> bijection D g -> bijection D (compose f g).
Proof.
  intros Hf Hg x Hx. cbn.
  destruct (Hf x Hx) as [[F1 F2] [F3 F4]]. destruct (Hg x Hx) as [[G1 G2] [G3 G4]].
  destruct (Hg _ F1) as [[A1 A2] _]. destruct (Hf _ G3) as [_ [B1 B2]].
  rewrite A2, B2. auto.
Qed.

Theorem identity_bijection {A} (D : A -> Prop) : bijection D identity.
Proof. intros x Hx. cbn. auto. Qed.

Theorem chain_bijection {A} (D : A -> Prop) steps :
  Forall (bijection D) steps -> bijection D (chain steps).
Proof.
  induction 1; cbn.
  - apply identity_bijection.
  - now apply compose_bijection.
Qed.

Theorem opposite_bijection {A} (D : A -> Prop) f : bijection D f -> bijection D (opposite f).
Proof. intros H x Hx. destruct (H x Hx). cbn. auto. Qed.

Theorem extended_bijection n m f :
  m <= n -> bijection (below m) f -> bijection (below n) (extended m f).
Proof.
  unfold below, bijection. cbn. intros Hm H x Hx.
  destruct (Z.ltb_spec x m) as [L | L].
  - destruct (H x) as [[A B] [C D]]; [lia|].
    destruct (Z.ltb_spec (forward f x) m), (Z.ltb_spec (inverse f x) m); repeat split; lia.
  - destruct (Z.ltb_spec x m); repeat split; lia.
Qed.

Theorem renamed_bijection {A B} (D : A -> Prop) (E : B -> Prop) name value f :
  (forall x, D x -> E (name x) /\ value (name x) = x) ->
  (forall y, E y -> D (value y) /\ name (value y) = y) ->
  bijection E f -> bijection D (renamed name value f).
Proof.
  intros Hn Hv H x Hx. cbn. destruct (Hn x Hx) as [N1 N2].
  destruct (H _ N1) as [[F1 F2] [F3 F4]].
  destruct (Hv _ F1) as [V1 V2]. destruct (Hv _ F3) as [V3 V4].
  rewrite V2, V4, F2, F4. auto.
Qed.

(** No two points have one value. *)
Lemma forward_injective {A} (D : A -> Prop) f x y :
  bijection D f -> D x -> D y -> forward f x = forward f y -> x = y.
Proof.
  intros H Hx Hy E. destruct (H x Hx) as [[_ <-] _]. destruct (H y Hy) as [[_ Q] _].
  now rewrite E.
Qed.

Lemma map_nodup {A B} (f : A -> B) l :
  (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup l -> NoDup (map f l).
Proof.
  intros H N. induction N as [|x l Hx N IH]; cbn; constructor.
  - rewrite in_map_iff. intros [y [E Hy]]. apply Hx.
    rewrite (H x y); cbn; auto.
  - apply IH. intros y z Hy Hz. apply H; now right.
Qed.

Lemma nodup_app {A} (l l' : list A) :
  NoDup l -> NoDup l' -> (forall x, In x l -> In x l' -> False) -> NoDup (l ++ l').
Proof.
  induction 1 as [|x l Hx N IH]; intros N' D; cbn; [exact N'|]. constructor.
  - rewrite in_app_iff. intros [I | I]; [contradiction|]. apply (D x); cbn; auto.
  - apply IH; [exact N'|]. intros y I I'. apply (D y); cbn; auto.
Qed.

(** The numbers 0, 1, .., [n - 1]. *)
Definition range n := map Z.of_nat (seq 0 (Z.to_nat n)).

Lemma in_range n x : In x (range n) <-> below n x.
Proof.
  unfold range, below. rewrite in_map_iff. split.
  - intros [k [<- H]]. apply in_seq in H. lia.
  - intros H. exists (Z.to_nat x). rewrite in_seq. lia.
Qed.

Lemma range_nodup n : NoDup (range n).
Proof. apply map_nodup; [lia | apply seq_NoDup]. Qed.

Lemma range_length n : length (range n) = Z.to_nat n.
Proof. unfold range. now rewrite map_length, seq_length. Qed.

Lemma range_succ n : 0 <= n -> range (n + 1) = range n ++ [n].
Proof.
  intros H. unfold range. replace (Z.to_nat (n + 1)) with (Z.to_nat n + 1)%nat by lia.
  rewrite seq_app, map_app. cbn. now rewrite Z2Nat.id by lia.
Qed.

(** The values of a bijection are the points, each once. *)
Theorem values_permutation n f :
  bijection (below n) f -> Permutation (map (forward f) (range n)) (range n).
Proof.
  intros H. apply NoDup_Permutation.
  - apply map_nodup.
    + intros x y Hx Hy. rewrite in_range in Hx, Hy. eapply forward_injective; eauto.
    + apply range_nodup.
  - apply range_nodup.
  - intros y. rewrite in_map_iff. split.
    + intros [x [<- Hx]]. rewrite in_range in *. apply (H x Hx).
    + intros Hy. rewrite in_range in Hy. exists (inverse f y).
      rewrite in_range. destruct (H y Hy) as [_ [A B]]. auto.
Qed.
