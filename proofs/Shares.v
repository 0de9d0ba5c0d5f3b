(** Shards, divisions, strides and the sampler of chapters 8 and 10: each place goes to one rank. *)

From Proofs Require Export Uniform.

(** The places from [first] up to, but not including, [stop]. *)
Definition piece first stop := map (fun x => first + x) (range (stop - first)).

(** Chapter 8: shard [rank] among [ranks] of [m] places. *)
Definition shard m ranks rank := piece (m * rank / ranks) (m * (rank + 1) / ranks).

(** The places [rank], [rank + ranks], .. that are below [m]. *)
Definition strided m ranks rank :=
  map (fun k => rank + ranks * k) (range ((m - rank + ranks - 1) / ranks)).

(** Chapter 10. *)
Inductive tail := short | pad | fill | drop.

Definition tail_places t ranks batch left_over :=
  match t with
  | short => left_over
  | pad => (left_over + ranks - 1) / ranks * ranks
  | fill => ranks * batch
  | drop => 0
  end.

Definition step_of length ranks consumed places rank :=
  let remaining := length - consumed in
  map (fun offset => if offset <? remaining then consumed + offset
                     else (offset - remaining) mod length)
    (strided places ranks rank).

(** A rank's batches from a position on; [steps] is a number of steps that is not exceeded. *)
Fixpoint batches t length ranks batch steps consumed rank :=
  match steps with
  | O => []
  | S steps =>
    let whole := ranks * batch in
    let remaining := length - consumed in
    if remaining =? 0 then []
    else if remaining >=? whole
    then step_of length ranks consumed whole rank ::
      batches t length ranks batch steps (consumed + whole) rank
    else [step_of length ranks consumed (tail_places t ranks batch remaining) rank]
  end.

(** How many places all ranks take together in an epoch. *)
Definition dealt t length ranks batch consumed :=
  let whole := ranks * batch in
  let remaining := length - consumed in
  consumed + remaining / whole * whole +
    (if remaining mod whole =? 0 then 0 else tail_places t ranks batch (remaining mod whole)).

Lemma piece_zero n : piece 0 n = range n.
Proof.
  unfold piece. rewrite Z.sub_0_r. rewrite <- (map_id (range n)) at 2. apply map_ext. intros x.
  ring.
Qed.

Lemma piece_app a b c : a <= b <= c -> piece a b ++ piece b c = piece a c.
Proof.
  intros H. unfold piece. rewrite (range_split (c - a) (b - a)) by lia. rewrite map_app, map_map.
  replace (c - a - (b - a)) with (c - b) by ring. f_equal. apply map_ext. intros x. ring.
Qed.

(** Pieces between bounds that do not decrease cover all places once, in order. So does the division
    of an array over ranks in an exchange. *)
Theorem division_once (bound : Z -> Z) ranks : 0 <= ranks ->
  (forall r, 0 <= r < ranks -> bound r <= bound (r + 1)) ->
  flat_map (fun r => piece (bound r) (bound (r + 1))) (range ranks) = piece (bound 0) (bound ranks).
Proof.
  intros Hr. pattern ranks. apply natlike_ind; [| |exact Hr].
  - intros _. unfold piece. now rewrite Z.sub_diag.
  - intros n Hn IH M. unfold Z.succ.
    rewrite range_succ, flat_map_app, IH by (auto; intros; apply M; lia).
    cbn [flat_map]. rewrite app_nil_r. apply piece_app. split; [|apply M; lia].
    clear IH. revert M. pattern n. apply natlike_ind; [lia| |exact Hn].
    intros k Hk IH M. unfold Z.succ in *. transitivity (bound k); [|apply M; lia].
    apply IH. intros r Hr'. apply M. lia.
Qed.

Theorem shards_once m ranks : 0 <= m -> 0 < ranks ->
  flat_map (shard m ranks) (range ranks) = range m.
Proof.
  intros Hm Hr. unfold shard.
  rewrite (division_once (fun r => m * r / ranks)); [|lia|].
  - rewrite Z.mul_0_r, Z.div_0_l, Z.div_mul by lia. apply piece_zero.
  - intros r H. apply Z.div_le_mono; nia.
Qed.

Lemma in_strided m ranks rank x : below ranks rank ->
  In x (strided m ranks rank) <-> below m x /\ x mod ranks = rank.
Proof.
  intros Hr. unfold below in Hr. unfold strided. rewrite in_map_iff. split.
  - intros [k [<- Hk]]. rewrite in_range in Hk. unfold below in *.
    assert (ranks * k <= m - rank - 1).
    { pose proof (Z.mul_div_le (m - rank + ranks - 1) ranks ltac:(lia)). nia. }
    split; [nia|]. rewrite Z.mul_comm, Z.mod_add by lia. now apply Z.mod_small.
  - intros [Hx E]. exists (x / ranks). pose proof (Z.div_mod x ranks ltac:(lia)).
    split; [lia|]. rewrite in_range. unfold below in *.
    split; [apply Z.div_pos; lia|].
    assert (x / ranks + 1 <= (m - rank + ranks - 1) / ranks); [|lia].
    apply Z.div_le_lower_bound; lia.
Qed.

Theorem strides_once m ranks : 0 <= m -> 0 < ranks ->
  Permutation (flat_map (strided m ranks) (range ranks)) (range m).
Proof.
  intros Hm Hr. apply NoDup_Permutation.
  - apply nodup_flat_map; [apply range_nodup| |].
    + intros r _. unfold strided. apply map_nodup; [|apply range_nodup]. intros x y _ _ E. nia.
    + intros r s x R S I J. rewrite in_range in R, S. apply in_strided in I, J; auto.
      destruct I, J. lia.
  - apply range_nodup.
  - intros x. rewrite in_flat_map, in_range. split.
    + intros [r [R I]]. rewrite in_range in R. now apply in_strided in I.
    + intros Hx. exists (x mod ranks). rewrite in_range.
      pose proof (Z.mod_pos_bound x ranks Hr). split; [exact H|]. now apply in_strided.
Qed.

(** All ranks' places of a step follow on each other, and begin again at the end. *)
Lemma step_once length ranks consumed places :
  0 <= consumed < length -> 0 <= places -> 0 < ranks ->
  Permutation (flat_map (step_of length ranks consumed places) (range ranks))
    (map (fun x => x mod length) (piece consumed (consumed + places))).
Proof.
  intros Hc Hp Hr. unfold step_of.
  set (g := fun offset => if offset <? length - consumed then consumed + offset
    else (offset - (length - consumed)) mod length).
  assert (E : forall l, flat_map (fun r => map g (strided places ranks r)) l =
    map g (flat_map (strided places ranks) l)).
  { induction l as [|r l IH]; [reflexivity|]. cbn. now rewrite IH, map_app. }
  rewrite E. etransitivity; [apply Permutation_map, strides_once; lia|].
  unfold piece. replace (consumed + places - consumed) with places by ring. rewrite map_map.
  apply Permutation_refl'. apply map_ext_in. intros x Hx. apply in_range in Hx. unfold below in Hx.
  unfold g. destruct (Z.ltb_spec x (length - consumed)).
  - rewrite Z.mod_small; lia.
  - replace (consumed + x) with (x - (length - consumed) + 1 * length) by ring.
    now rewrite Z.mod_add by lia.
Qed.

Lemma flat_map_nil {A B} (l : list A) : flat_map (fun _ => @nil B) l = [].
Proof. induction l; auto. Qed.

Lemma flat_map_twice {A B} (f g : A -> list B) l :
  Permutation (flat_map (fun x => f x ++ g x) l) (flat_map f l ++ flat_map g l).
Proof.
  induction l as [|x l IH]; [constructor|]. cbn. rewrite <- !app_assoc. apply Permutation_app_head.
  etransitivity; [apply Permutation_app_head, IH|].
  rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.

Lemma tail_places_nonneg t ranks batch x : 0 < ranks -> 0 < batch -> 0 <= x ->
  0 <= tail_places t ranks batch x.
Proof.
  intros Hr Hb Hx. destruct t; cbn; try nia.
  apply Z.mul_nonneg_nonneg; [apply Z.div_pos; lia | lia].
Qed.

(** The batches of all ranks together are the places from the position on, each once in order, and
    then, if the tail asks for more, the first ones again. *)
Theorem epoch_dealt_once t length ranks batch steps consumed :
  0 < ranks -> 0 < batch -> 0 <= consumed <= length -> length - consumed <= Z.of_nat steps ->
  Permutation
    (flat_map (fun r => concat (batches t length ranks batch steps consumed r)) (range ranks))
    (map (fun x => x mod length) (piece consumed (dealt t length ranks batch consumed))).
Proof.
  intros Hr Hb. set (whole := ranks * batch). assert (W : 0 < whole) by (unfold whole; nia).
  revert consumed. induction steps as [|steps IH]; intros consumed Hc Hs.
  - assert (length - consumed = 0) by lia. unfold dealt. fold whole. rewrite H.
    cbn. rewrite Z.add_0_r. unfold piece. rewrite Z.add_0_r, Z.sub_diag. cbn.
    now rewrite flat_map_nil.
  - cbn [batches]. fold whole. destruct (Z.eqb_spec (length - consumed) 0) as [E | N].
    + unfold dealt. fold whole. rewrite E.
      cbn. rewrite Z.add_0_r. unfold piece. rewrite Z.add_0_r, Z.sub_diag. cbn.
      now rewrite flat_map_nil.
    + destruct (Z.geb_spec (length - consumed) whole) as [G | L].
      * cbn [concat]. etransitivity; [apply flat_map_twice|].
        etransitivity; [apply Permutation_app|].
        -- apply step_once; lia.
        -- apply IH; lia.
        -- rewrite <- map_app. apply Permutation_refl'. f_equal.
           assert (D : dealt t length ranks batch (consumed + whole) =
             dealt t length ranks batch consumed).
           { unfold dealt. fold whole.
             replace (length - consumed) with (length - (consumed + whole) + 1 * whole) by ring.
             rewrite Z.div_add, Z.mod_add by lia. ring. }
           rewrite D. apply piece_app. split; [lia|]. rewrite <- D. unfold dealt. fold whole.
           pose proof (Z.div_pos (length - (consumed + whole)) whole).
           pose proof (Z.mod_pos_bound (length - (consumed + whole)) whole W).
           pose proof (tail_places_nonneg t ranks batch
             ((length - (consumed + whole)) mod whole) Hr Hb).
           destruct ((length - (consumed + whole)) mod whole =? 0); nia.
      * replace (dealt t length ranks batch consumed)
          with (consumed + tail_places t ranks batch (length - consumed)).
        -- pose proof (tail_places_nonneg t ranks batch (length - consumed) Hr Hb ltac:(lia)) as T.
           rewrite <- (step_once length ranks consumed _ ltac:(lia) T Hr).
           apply Permutation_refl', flat_map_ext. intros r. cbn [concat]. apply app_nil_r.
        -- unfold dealt. fold whole. rewrite Z.div_small, Z.mod_small by lia.
           destruct (Z.eqb_spec (length - consumed) 0); [lia | ring].
Qed.

(** With the tail [short] each place of an epoch comes once. *)
Theorem epoch_short_once length ranks batch : 0 < ranks -> 0 < batch -> 0 <= length ->
  Permutation
    (flat_map (fun r => concat (batches short length ranks batch (Z.to_nat length) 0 r))
      (range ranks))
    (range length).
Proof.
  intros Hr Hb Hl. etransitivity; [apply epoch_dealt_once; lia|].
  replace (dealt short length ranks batch 0) with length.
  - rewrite piece_zero. apply Permutation_refl'.
    transitivity (map (fun x => x) (range length)); [|apply map_id].
    apply map_ext_in. intros x Hx. apply in_range in Hx. now apply Z.mod_small.
  - unfold dealt. rewrite Z.sub_0_r. cbn [tail_places].
    pose proof (Z.div_mod length (ranks * batch) ltac:(nia)).
    destruct (Z.eqb_spec (length mod (ranks * batch)) 0); lia.
Qed.
