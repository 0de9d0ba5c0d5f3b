(** Chapter 9: shuffles of blocks. The last block of the data may be short. *)

From Proofs Require Export Bijection.

Section Blocks.
  Variables length block window : Z.
  (** The order in which blocks are read, and a bijection for the items of each window. *)
  Variable outer : maps Z.
  Variable inner : Z -> maps Z.

  Definition blocks := (length + block - 1) / block.

  (** How many items the last block has, and the position at which it is read. *)
  Definition e := length - (blocks - 1) * block.
  Definition l := inverse outer (blocks - 1).

  Definition start k := if k <=? l then k * block else (k - 1) * block + e.

  Definition position x :=
    if x <? l * block then x / block
    else if x <? l * block + e then l
    else 1 + (x - e) / block.

  (** From a place in the order in which items are read to an index, and back. *)
  Definition reading :=
    Maps (fun place =>
            let k := position place in forward outer k * block + place - start k)
         (fun index =>
            let k := inverse outer (index / block) in start k + index mod block).

  (** From a slot to a place in the same window, and back. *)
  Definition windows :=
    let move direction x :=
      let w := position x / window in
      let first := start (w * window) in
      first + direction (inner w) (x - first) in
    Maps (move forward) (move inverse).

  Definition block_shuffle := compose windows reading.

  Hypothesis some : 0 < length /\ 0 < block /\ 0 < window.
  Hypothesis outer_bijection : bijection (below blocks) outer.

  Lemma short_block : 1 <= e <= block /\ 1 <= blocks.
  Proof.
    unfold e, blocks. pose proof (Z.div_mod (length + block - 1) block ltac:(lia)).
    pose proof (Z.mod_pos_bound (length + block - 1) block ltac:(lia)).
    assert (1 <= (length + block - 1) / block) by (apply Z.div_le_lower_bound; lia). nia.
  Qed.

  Lemma last_position : 0 <= l < blocks /\ forward outer l = blocks - 1.
  Proof.
    pose proof short_block.
    destruct (outer_bijection (blocks - 1)) as [_ [A B]]; [unfold below; lia|].
    split; [exact A | exact B].
  Qed.

  Lemma start_end : start blocks = length.
  Proof.
    pose proof last_position. unfold start. destruct (Z.leb_spec blocks l); [lia|]. unfold e. lia.
  Qed.

  Lemma start_monotone j k : 0 <= j <= k -> start j <= start k.
  Proof.
    pose proof short_block. unfold start. destruct (Z.leb_spec j l), (Z.leb_spec k l); nia.
  Qed.

  Lemma position_bounds x : below length x ->
    0 <= position x < blocks /\ start (position x) <= x < start (position x + 1).
  Proof.
    intros Hx. pose proof short_block. pose proof last_position. unfold below in Hx.
    unfold position. destruct (Z.ltb_spec x (l * block)) as [A | A];
      [|destruct (Z.ltb_spec x (l * block + e)) as [B | B]].
    - pose proof (Z.div_mod x block ltac:(lia)). pose proof (Z.mod_pos_bound x block ltac:(lia)).
      assert (0 <= x / block) by (apply Z.div_pos; lia).
      assert (x / block < l) by (apply Z.div_lt_upper_bound; lia).
      unfold start. destruct (Z.leb_spec (x / block) l), (Z.leb_spec (x / block + 1) l); lia.
    - unfold start. rewrite Z.leb_refl. destruct (Z.leb_spec (l + 1) l); [lia|].
      replace (l + 1 - 1) with l by ring. lia.
    - pose proof (Z.div_mod (x - e) block ltac:(lia)).
      pose proof (Z.mod_pos_bound (x - e) block ltac:(lia)).
      assert (l <= (x - e) / block) by (apply Z.div_le_lower_bound; lia).
      assert ((x - e) / block < blocks - 1) by (apply Z.div_lt_upper_bound; unfold e; lia).
      unfold start. destruct (Z.leb_spec (1 + (x - e) / block) l); [lia|].
      destruct (Z.leb_spec (1 + (x - e) / block + 1) l); lia.
  Qed.

  Lemma position_is x j k : below length x -> 0 <= j <= k ->
    start j <= x < start k -> j <= position x < k.
  Proof.
    intros Hx Hj H. pose proof (position_bounds x Hx) as [P Q]. split.
    - destruct (Z.lt_ge_cases (position x) j); [|lia].
      pose proof (start_monotone (position x + 1) j). lia.
    - destruct (Z.lt_ge_cases (position x) k); [lia|].
      pose proof (start_monotone k (position x)). lia.
  Qed.

  Lemma start_succ k : 0 <= k ->
    start (k + 1) = start k + (if k =? l then e else block).
  Proof.
    intros Hk. pose proof last_position. unfold start.
    destruct (Z.leb_spec (k + 1) l), (Z.leb_spec k l), (Z.eqb_spec k l); lia.
  Qed.

  Theorem reading_bijection : bijection (below length) reading.
  Proof.
    pose proof short_block as S. pose proof last_position as [L1 L2]. intros x Hx. split.
    - pose proof (position_bounds x Hx) as [P Q]. cbn. set (k := position x) in *.
      destruct (outer_bijection k) as [[O1 O2] _]; [exact P|]. unfold below in O1.
      rewrite start_succ in Q by lia.
      set (d := x - start k). replace (forward outer k * block + x - start k)
        with (forward outer k * block + d) by (unfold d; ring).
      assert (D : 0 <= d < (if k =? l then e else block)) by (unfold d; lia).
      assert (Db : 0 <= d < block) by (destruct (k =? l); lia).
      assert (T : (forward outer k * block + d) / block = forward outer k /\
        (forward outer k * block + d) mod block = d).
      { rewrite Z.div_add_l, Z.div_small, Z.add_0_r by lia. split; [reflexivity|].
        rewrite Z.add_comm, Z.mod_add by lia. now apply Z.mod_small. }
      destruct T as [-> ->]. rewrite O2. split; [|unfold d; lia].
      unfold below. split; [nia|]. destruct (Z.eqb_spec k l) as [E | N].
      + rewrite E, L2. unfold e in D. lia.
      + assert (forward outer k <> blocks - 1).
        { intros E. apply N. apply (forward_injective (below blocks) outer); auto. lia. }
        unfold e in S. nia.
    - cbn. unfold below in Hx.
      pose proof (Z.div_mod x block ltac:(lia)) as E.
      pose proof (Z.mod_pos_bound x block ltac:(lia)).
      set (q := x / block) in *. set (d := x mod block) in *.
      assert (Q : 0 <= q < blocks).
      { split; [apply Z.div_pos; lia|]. unfold e in S. destruct (Z.lt_ge_cases q blocks); nia. }
      destruct (outer_bijection q Q) as [_ [I1 I2]]. set (k := inverse outer q) in *.
      unfold below in I1.
      assert (D : d < (if k =? l then e else block)).
      { destruct (Z.eqb_spec k l) as [K | _]; [|lia]. unfold e.
        assert (q = blocks - 1) by congruence. nia. }
      pose proof (start_succ k ltac:(lia)) as T.
      pose proof (start_monotone (k + 1) blocks ltac:(lia)) as U.
      rewrite start_end in U. pose proof (start_monotone 0 k ltac:(lia)) as V.
      assert (Z0 : start 0 = 0) by (unfold start; destruct (Z.leb_spec 0 l); lia).
      assert (B : below length (start k + d)) by (unfold below; lia). split; [exact B|].
      assert (P : position (start k + d) = k).
      { pose proof (position_is (start k + d) k (k + 1) B ltac:(lia) ltac:(lia)). lia. }
      rewrite P, I2. lia.
  Qed.

  (** How many items window [w] has. *)
  Definition window_length w := start (Z.min ((w + 1) * window) blocks) - start (w * window).

  Hypothesis inner_bijection : forall w, 0 <= w -> w * window < blocks ->
    bijection (below (window_length w)) (inner w).

  Lemma window_cancels x f : below length x -> (f = forward \/ f = inverse) ->
    let w := position x / window in
    let first := start (w * window) in
    let y := first + f (inner w) (x - first) in
    below length y /\ position y / window = w /\ below (window_length w) (x - first).
  Proof.
    intros Hx F. cbn zeta. pose proof (position_bounds x Hx) as [P Q].
    set (w := position x / window). set (first := start (w * window)).
    pose proof (Z.div_mod (position x) window ltac:(lia)) as E.
    pose proof (Z.mod_pos_bound (position x) window ltac:(lia)) as M. fold w in E.
    assert (W : 0 <= w) by (apply Z.div_pos; lia).
    assert (L : w * window <= position x) by nia.
    assert (U : position x + 1 <= Z.min ((w + 1) * window) blocks) by nia.
    pose proof (start_monotone (w * window) (position x) ltac:(nia)) as A. fold first in A.
    pose proof (start_monotone (position x + 1) (Z.min ((w + 1) * window) blocks) ltac:(lia)) as B.
    pose proof (start_monotone (Z.min ((w + 1) * window) blocks) blocks ltac:(lia)) as C.
    rewrite start_end in C. pose proof (start_monotone 0 (w * window) ltac:(nia)) as D.
    assert (Z0 : start 0 = 0).
    { pose proof last_position. unfold start. destruct (Z.leb_spec 0 l); lia. }
    assert (X : below (window_length w) (x - first))
      by (unfold below, window_length; fold first; lia).
    assert (Y : below (window_length w) (f (inner w) (x - first))).
    { destruct (inner_bijection w W ltac:(lia) _ X) as [[G _] [H _]].
      destruct F as [-> | ->]; assumption. }
    unfold below, window_length in Y. fold first in Y.
    assert (Z1 : below length (first + f (inner w) (x - first)))
      by (unfold below; fold first in D; lia).
    split; [exact Z1|]. split; [|exact X].
    pose proof (position_is _ (w * window) (Z.min ((w + 1) * window) blocks) Z1 ltac:(lia)
      ltac:(fold first; lia)) as R.
    symmetry.
    apply (Z.div_unique_pos _ _ _ (position (first + f (inner w) (x - first)) - w * window)); nia.
  Qed.

  Theorem windows_bijection : bijection (below length) windows.
  Proof.
    intros x Hx. cbn. split.
    - destruct (window_cancels x forward Hx (or_introl eq_refl)) as [A [B C]]. split; [exact A|].
      pose proof (position_bounds x Hx).
      pose proof (Z.div_mod (position x) window ltac:(lia)).
      pose proof (Z.mod_pos_bound (position x) window ltac:(lia)).
      assert (0 <= position x / window) by (apply Z.div_pos; lia).
      rewrite B. set (w := position x / window) in *. set (first := start (w * window)) in *.
      replace (first + forward (inner w) (x - first) - first) with (forward (inner w) (x - first))
        by ring.
      destruct (inner_bijection w ltac:(lia) ltac:(lia) _ C) as [[_ D] _]. rewrite D. ring.
    - destruct (window_cancels x inverse Hx (or_intror eq_refl)) as [A [B C]]. split; [exact A|].
      pose proof (position_bounds x Hx).
      pose proof (Z.div_mod (position x) window ltac:(lia)).
      pose proof (Z.mod_pos_bound (position x) window ltac:(lia)).
      assert (0 <= position x / window) by (apply Z.div_pos; lia).
      rewrite B. set (w := position x / window) in *. set (first := start (w * window)) in *.
      replace (first + inverse (inner w) (x - first) - first) with (inverse (inner w) (x - first))
        by ring.
      destruct (inner_bijection w ltac:(lia) ltac:(lia) _ C) as [_ [_ D]]. rewrite D. ring.
  Qed.

  (** For every length, block and window, and any bijections of the blocks and of each window. *)
  Theorem block_shuffle_bijection : bijection (below length) block_shuffle.
  Proof. apply compose_bijection; [exact windows_bijection | exact reading_bijection]. Qed.
End Blocks.
