(** Exchanges: an array that is spread over ranks is shuffled by messages between them.

    Items are named by their indexes, and [owner] gives the rank that holds an index. The order [p]
    is that of a compaction. Rank [t] is to hold a piece of its places. Every rank packs its items
    in the order of their slots; a receiver puts what comes from all ranks in that order. *)

From Proofs Require Export Shares.

Section Exchange.
  Variable owner : Z -> Z.

  (** What rank [s] holds of some places, in their order. *)
  Definition held s places := filter (fun index => owner index =? s) places.

  (** The places of [p] that rank [t] is to hold. *)
  Definition segment (p : list Z) bound t :=
    map (fun k => nth (Z.to_nat k) p 0) (piece (bound t) (bound (t + 1))).

  (** The receiver knows of each of its places from which rank the item comes, and takes the next
      one of that rank's message. It fails if there is none. *)
  Fixpoint place owners (messages : Z -> list Z) :=
    match owners with
    | [] => Some []
    | s :: rest =>
      match messages s with
      | [] => None
      | item :: message =>
        option_map (cons item) (place rest (fun r => if r =? s then message else messages r))
      end
    end.

  Lemma flat_map_filter {A} (q : Z -> bool) (g : A -> list Z) l :
    flat_map (fun x => filter q (g x)) l = filter q (flat_map g l).
  Proof. induction l as [|x l IH]; [reflexivity|]. cbn. now rewrite IH, filter_app. Qed.

  Lemma segments_whole p bound ranks : 0 <= ranks ->
    (forall r, 0 <= r < ranks -> bound r <= bound (r + 1)) ->
    bound 0 = 0 -> bound ranks = Z.of_nat (length p) ->
    flat_map (segment p bound) (range ranks) = p.
  Proof.
    intros Hr M B0 B1. unfold segment.
    assert (E : forall l, flat_map (fun t => map (fun k => nth (Z.to_nat k) p 0)
      (piece (bound t) (bound (t + 1)))) l =
      map (fun k => nth (Z.to_nat k) p 0) (flat_map (fun t => piece (bound t) (bound (t + 1))) l)).
    { induction l as [|t l IH]; [reflexivity|]. cbn. now rewrite IH, map_app. }
    rewrite E, division_once, B0, B1, piece_zero by assumption.
    apply (table_values (Z.of_nat (length p)) p). lia.
  Qed.

  (** What a rank sends to rank 0, 1, .. one after another is what it packed: its items in the order
      of the slots, each once. *)
  Theorem packed_once p bound ranks s : 0 <= ranks ->
    (forall r, 0 <= r < ranks -> bound r <= bound (r + 1)) ->
    bound 0 = 0 -> bound ranks = Z.of_nat (length p) ->
    flat_map (fun t => held s (segment p bound t)) (range ranks) = held s p.
  Proof.
    intros Hr M B0 B1. unfold held. rewrite flat_map_filter.
    now rewrite (segments_whole p bound ranks).
  Qed.

  (** A receiver puts the messages together to the places that it is to hold. *)
  Theorem delivered_once places messages : (forall s, messages s = held s places) ->
    place (map owner places) messages = Some places.
  Proof.
    revert messages. induction places as [|index places IH]; intros messages H; [reflexivity|].
    cbn [map place]. rewrite H. cbn [held filter]. rewrite Z.eqb_refl.
    rewrite IH; [reflexivity|]. intros s. destruct (Z.eqb_spec s (owner index)) as [-> | N].
    - reflexivity.
    - rewrite H. cbn [held filter].
      destruct (Z.eqb_spec (owner index) s); [congruence | reflexivity].
  Qed.

  (** A rank need not know the others' items for it: with [first] and [stop] as bounds of its
      indexes, these are the survivors of the bijection in that interval. *)
  Theorem packed_by_own_right f n m first stop s : stop <= m ->
    (forall index, below m index ->
      (owner index =? s) = ((first <=? index) && (index <? stop))%bool) ->
    (forall x, below n x -> 0 <= forward f x) ->
    held s (compact f n m) =
      filter (fun index => ((first <=? index) && (index <? stop))%bool) (map (forward f) (range n)).
  Proof.
    intros L H F. unfold held, compact, survivors.
    assert (G : Forall (fun x => 0 <= x) (map (forward f) (range n))).
    { apply Forall_map, Forall_forall. intros x Hx. apply F. now rewrite <- in_range. }
    induction G as [|x l Hx _ IH]; [reflexivity|]. cbn [filter].
    destruct (Z.ltb_spec x m) as [I | O].
    - cbn [filter]. rewrite IH, H by (unfold below; lia). reflexivity.
    - rewrite IH. destruct (Z.ltb_spec x stop); [lia|]. now rewrite Bool.andb_false_r.
  Qed.
End Exchange.

(** All ranks together then hold the shuffled array. *)
Theorem exchange_right owner p bound ranks : 0 <= ranks ->
  (forall r, 0 <= r < ranks -> bound r <= bound (r + 1)) ->
  bound 0 = 0 -> bound ranks = Z.of_nat (length p) ->
  flat_map (fun t => match place (map owner (segment p bound t))
    (fun s => held owner s (segment p bound t))
      with Some l => l | None => [] end) (range ranks) = p.
Proof.
  intros Hr M B0 B1. etransitivity; [|apply (segments_whole p bound ranks Hr M B0 B1)].
  apply flat_map_ext. intros t. now rewrite delivered_once.
Qed.
