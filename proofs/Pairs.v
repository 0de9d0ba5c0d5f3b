(** Lemma 1 and theorem 3 of docs/proof.md, for every width from 3 bits on and any number of rounds:
    whatever the keys of the other rounds are, one round makes any two slots' values, and any two
    items, come in either order equally often, and gives each slot each value equally often.

    The proof of the theorem is another one than on that page: it names the key that exchanges the
    two values. *)

From Proofs Require Export MulXorshift.

(** The keys of a round: an increment, and a multiplier that is 3 or 5 modulo 8. *)
Definition in_key b '(c, a) := below (2^b) c /\ below (2^b) a /\ (a mod 8 = 3 \/ a mod 8 = 5).

Definition round_keys b :=
  filter (fun '(_, a) => ((a mod 8 =? 3) || (a mod 8 =? 5))%bool) (list_prod (range (2^b)) (range
    (2^b))).

(** The value of a slot if this is the key of one more round. *)
Definition value b key last slot := forward (mul_xorshift b (key ++ [last])) slot.

(** The key that exchanges the values at two points before the round. *)
Definition flip b x y '((c, a) : Z * Z) := ((a * (x + y) + c) mod 2^b, (- a) mod 2^b).

Lemma rounds_app b r key k x : forward (mul_xorshift_rounds b r (key ++ [k])) x =
  let '(c, a) := k in
  forward (mul_xorshift_round b (r + Z.of_nat (length key)) c a)
    (forward (mul_xorshift_rounds b r key) x).
Proof.
  revert r x. induction key as [|[c a] key IH]; intros r x; cbn [app length mul_xorshift_rounds].
  - destruct k as [c a]. cbn. now rewrite Z.add_0_r.
  - cbn [compose forward]. rewrite IH. destruct k as [c' a'].
    replace (r + 1 + Z.of_nat (length key)) with (r + Z.of_nat (S (length key))) by lia.
    reflexivity.
Qed.

Lemma value_affine b key c a slot : value b key (c, a) slot =
  forward (xorshift (half b + Z.of_nat (length key) mod 2))
    ((a * forward (mul_xorshift b key) slot + c) mod 2^b).
Proof. unfold value, mul_xorshift. cbn [compose forward]. now rewrite rounds_app. Qed.

Lemma flip_value b x y c a : 0 <= b ->
  let '(c', a') := flip b x y (c, a) in (a' * x + c') mod 2^b = (a * y + c) mod 2^b.
Proof.
  intros Hb. cbn. pose proof (pow2_pos b Hb).
  rewrite Z.add_mod_idemp_r, <- Z.add_mod_idemp_l, Z.mul_mod_idemp_l, Z.add_mod_idemp_l by lia.
  f_equal. ring.
Qed.

Lemma flip_twice b x y k : 0 <= b -> in_key b k -> flip b x y (flip b x y k) = k.
Proof.
  intros Hb. destruct k as [c a]. intros [Hc [Ha _]]. pose proof (pow2_pos b Hb). cbn. f_equal.
  - rewrite Z.add_mod_idemp_r, <- Z.add_mod_idemp_l, Z.mul_mod_idemp_l, Z.add_mod_idemp_l by lia.
    replace (- a * (x + y) + (a * (x + y) + c)) with c by ring. now apply Z.mod_small.
  - replace (- ((- a) mod 2^b)) with (0 - (- a) mod 2^b) by ring.
    rewrite Zminus_mod_idemp_r. replace (0 - - a) with a by ring. now apply Z.mod_small.
Qed.

Lemma flip_key b x y k : 3 <= b -> in_key b k -> in_key b (flip b x y k).
Proof.
  intros Hb. destruct k as [c a]. intros [Hc [Ha R]]. cbn.
  repeat split; try (apply mod_below; lia).
  assert (E : ((- a) mod 2^b) mod 8 = (- a) mod 8).
  { replace (2^b) with (8 * 2^(b - 3)).
    - rewrite Z.rem_mul_r, Z.mul_comm, Z.mod_add, Z.mod_mod by (pose proof (pow2_pos (b - 3)); lia).
      reflexivity.
    - change 8 with (2^3). rewrite <- Z.pow_add_r by lia. f_equal. lia. }
  rewrite E. pose proof (Z.div_mod a 8). pose proof (Z.div_mod (- a) 8).
  pose proof (Z.mod_pos_bound (- a) 8). destruct R; lia.
Qed.

(** The other key exchanges the two values. *)
Theorem flip_exchanges b key k i j : 0 <= b ->
  let x := forward (mul_xorshift b key) i in
  let y := forward (mul_xorshift b key) j in
  value b key (flip b x y k) i = value b key k j /\ value b key (flip b x y k) j = value b key k i.
Proof.
  intros Hb x y. destruct k as [c a].
  pose proof (flip_value b x y c a Hb) as F. pose proof (flip_value b y x c a Hb) as G.
  unfold flip in *. rewrite !value_affine. fold x y.
  rewrite (Z.add_comm y x) in G. now rewrite F, G.
Qed.

Lemma in_round_keys b k : In k (round_keys b) <-> in_key b k.
Proof.
  destruct k as [c a]. unfold round_keys, in_key.
  rewrite filter_In, in_prod_iff, !in_range, Bool.orb_true_iff, !Z.eqb_eq. tauto.
Qed.

Lemma prod_nodup (l l' : list Z) : NoDup l -> NoDup l' -> NoDup (list_prod l l').
Proof.
  intros N N'. induction N as [|x l Hx N IH]; cbn; [constructor|].
  apply nodup_app; [|exact IH|].
  - apply map_nodup; [|exact N']. intros y z _ _ E. now inversion E.
  - intros [y z] I J. apply in_map_iff in I. destruct I as [w [E _]]. inversion E. subst.
    apply in_prod_iff in J. now destruct J.
Qed.

Lemma round_keys_nodup b : NoDup (round_keys b).
Proof. apply NoDup_filter, prod_nodup; apply range_nodup. Qed.

(** How many keys of the last round give two slots their values in this order. *)
Definition ordered b key i j :=
  length (filter (fun k => value b key k i <? value b key k j) (round_keys b)).

(** A map of keys that undoes itself compares two counts. *)
Lemma counts_le b (f : Z * Z -> Z * Z) (p q : Z * Z -> bool) :
  (forall k, in_key b k -> in_key b (f k) /\ f (f k) = k /\ (p k = true -> q (f k) = true)) ->
  (length (filter p (round_keys b)) <= length (filter q (round_keys b)))%nat.
Proof.
  intros H. rewrite <- (map_length f). apply NoDup_incl_length.
  - apply map_nodup; [|apply NoDup_filter, round_keys_nodup].
    intros k l Hk Hl E. apply filter_In in Hk, Hl. destruct Hk as [Hk _], Hl as [Hl _].
    apply in_round_keys in Hk, Hl.
    destruct (H k Hk) as [_ [<- _]], (H l Hl) as [_ [<- _]]. now rewrite E.
  - intros k Hk. apply in_map_iff in Hk. destruct Hk as [l [<- Hl]].
    apply filter_In in Hl. destruct Hl as [Hl P]. apply in_round_keys in Hl.
    apply filter_In. rewrite in_round_keys. destruct (H l Hl) as [A [_ B]]. auto.
Qed.

Lemma ordered_le b key i j : 3 <= b -> (ordered b key i j <= ordered b key j i)%nat.
Proof.
  intros Hb. unfold ordered.
  set (x := forward (mul_xorshift b key) i). set (y := forward (mul_xorshift b key) j).
  apply (counts_le b (flip b x y)). intros k Hk. repeat split.
  - now apply flip_key.
  - apply flip_twice; [lia | exact Hk].
  - destruct (flip_exchanges b key k i j ltac:(lia)) as [F G]. fold x y in F, G. now rewrite F, G.
Qed.

(** Two slots' values come in either order equally often. *)
Theorem pair_order_fair b key i j : 3 <= b -> ordered b key i j = ordered b key j i.
Proof. intros Hb. apply Nat.le_antisymm; now apply ordered_le. Qed.

(** For every multiplier of the last round, one increment gives a slot a value. *)
Theorem single_value_fair b key a slot v : 0 <= b -> below (2^b) v ->
  exists c, below (2^b) c /\ value b key (c, a) slot = v /\
    forall d, below (2^b) d -> value b key (d, a) slot = v -> d = c.
Proof.
  intros Hb Hv. pose proof (pow2_pos b Hb). pose proof (half_bounds b).
  pose proof (Z.mod_pos_bound (Z.of_nat (length key)) 2).
  assert (X := xorshift_bijection b (half b + Z.of_nat
    (length key) mod 2) Hb ltac:(lia) ltac:(lia)).
  set (x := a * forward (mul_xorshift b key) slot). set (t := half b + _ mod 2) in *.
  destruct (X v Hv) as [_ [I J]].
  exists ((inverse (xorshift t) v - x) mod 2^b). split; [now apply mod_below|].
  rewrite !value_affine. fold x t. split.
  - rewrite Z.add_mod_idemp_r by lia.
    replace (x + (inverse (xorshift t) v - x)) with (inverse (xorshift t) v) by ring.
    now rewrite Z.mod_small.
  - intros d Hd E. rewrite value_affine in E. fold x t in E.
    assert (F : inverse (xorshift t) v = (x + d) mod 2^b).
    { rewrite <- E. apply X. now apply mod_below. }
    rewrite F, Zminus_mod_idemp_l. replace (x + d - x) with d by ring. symmetry.
    now apply Z.mod_small.
Qed.

(** Lemma 1: a round takes a pair of points to each of the pairs that it can reach equally often.
    The class of a difference appears as what it is, the differences that keys make of it. *)
Definition takes b x y u v (k : Z * Z) :=
  let '(c, a) := k in (((a * x + c) mod 2^b =? u) && ((a * y + c) mod 2^b =? v))%bool.

Definition ways b x y u v := length (filter (takes b x y u v) (round_keys b)).

Definition multiple n p q := exists k, p = q + n * k.

Lemma mod_multiple n p q : 0 < n -> p mod n = q -> multiple n p q.
Proof. intros Hn <-. exists (p / n). pose proof (Z.div_mod p n). lia. Qed.

Lemma multiple_mod n p q : below n q -> multiple n p q -> p mod n = q.
Proof.
  intros Hq [k ->]. unfold below in Hq. rewrite Z.mul_comm, Z.mod_add by lia. now apply Z.mod_small.
Qed.

Lemma takes_true b x y u v c a : 0 <= b ->
  takes b x y u v (c, a) = true ->
  multiple (2^b) (a * x + c) u /\ multiple (2^b) (a * y + c) v.
Proof.
  intros Hb. unfold takes. rewrite Bool.andb_true_iff, !Z.eqb_eq. pose proof (pow2_pos b Hb).
  intros [E F]. split; now apply mod_multiple.
Qed.

(** The multiplier that goes from one reached pair to another. *)
Definition turn b a0 a1 a := (a * (a1 * odd_inverse a0 b)) mod 2^b.

Lemma key_odd a : a mod 8 = 3 \/ a mod 8 = 5 -> odd a.
Proof.
  intros H. unfold odd. pose proof (Z.div_mod a 8). pose proof (Z.div_mod a 2).
  pose proof (Z.mod_pos_bound a 2). destruct H; lia.
Qed.

Lemma mod8 b x : 3 <= b -> (x mod 2^b) mod 8 = x mod 8.
Proof.
  intros Hb. pose proof (pow2_pos (b - 3)).
  replace (2^b) with (8 * 2^(b - 3)).
  - rewrite Z.rem_mul_r, Z.mul_comm, Z.mod_add, Z.mod_mod by lia. reflexivity.
  - change 8 with (2^3). rewrite <- Z.pow_add_r by lia. f_equal. lia.
Qed.

Lemma inverse_residue a b : 3 <= b <= 64 -> a mod 8 = 3 \/ a mod 8 = 5 ->
  odd_inverse a b mod 8 = a mod 8.
Proof.
  intros Hb R. pose proof (odd_inverse_right a b (key_odd a R) ltac:(lia)) as E.
  generalize dependent (odd_inverse a b). intros i E.
  apply (f_equal (fun z => z mod 8)) in E. rewrite !mod8 in E by lia.
  rewrite Z.mul_mod in E by lia. change (1 mod 8) with 1 in E.
  pose proof (Z.mod_pos_bound i 8 ltac:(lia)) as B.
  set (j := i mod 8) in *. clearbody j.
  assert (C : j = 0 \/ j = 1 \/ j = 2 \/ j = 3 \/ j = 4 \/ j = 5 \/ j = 6 \/ j = 7) by lia.
  destruct R as [R | R]; rewrite R in E |- *;
    destruct C as [-> | [-> | [-> | [-> | [-> | [-> | [-> | ->]]]]]]];
    try reflexivity; vm_compute in E; discriminate.
Qed.

Lemma turn_residue b a0 a1 a : 3 <= b <= 64 -> a0 mod 8 = 3 \/ a0 mod 8 = 5 ->
  a1 mod 8 = 3 \/ a1 mod 8 = 5 -> a mod 8 = 3 \/ a mod 8 = 5 ->
  turn b a0 a1 a mod 8 = 3 \/ turn b a0 a1 a mod 8 = 5.
Proof.
  intros Hb R0 R1 R. unfold turn. pose proof (inverse_residue a0 b Hb R0) as I.
  generalize dependent (odd_inverse a0 b). intros i I. rewrite mod8 by lia.
  rewrite Z.mul_mod, (Z.mul_mod a1), I by lia.
  destruct R0 as [-> | ->], R1 as [-> | ->], R as [-> | ->]; cbn; auto.
Qed.

Lemma inverse_multiple b a : 3 <= b <= 64 -> a mod 8 = 3 \/ a mod 8 = 5 ->
  multiple (2^b) (a * odd_inverse a b) 1.
Proof.
  intros Hb R. pose proof (pow2_pos b). apply mod_multiple; [lia|].
  rewrite odd_inverse_right by (auto using key_odd; lia).
  apply Z.mod_small. pose proof (Z.pow_le_mono_r 2 3 b). lia.
Qed.

Lemma ways_le b x y u v u' v' : 3 <= b <= 64 ->
  below (2^b) u -> below (2^b) v -> below (2^b) u' -> below (2^b) v' ->
  (0 < ways b x y u v)%nat -> (0 < ways b x y u' v')%nat ->
  (ways b x y u v <= ways b x y u' v')%nat.
Proof.
  intros Hb Hu Hv Hu' Hv' P P'. pose proof (pow2_pos b ltac:(lia)) as Hn.
  assert (W : forall u v, (0 < ways b x y u v)%nat ->
    exists c a, in_key b (c, a) /\ takes b x y u v (c, a) = true).
  { intros s t H. unfold ways in H.
    destruct (filter (takes b x y s t) (round_keys b)) as [|[c a] l] eqn:E; [cbn in H; lia|].
    assert (I : In (c, a) (filter (takes b x y s t) (round_keys b))) by (rewrite E; now left).
    apply filter_In in I. exists c, a. now rewrite <- in_round_keys. }
  destruct (W u v P) as [c0 [a0 [[_ [_ R0]] T0]]].
  destruct (W u' v' P') as [c1 [a1 [[_ [_ R1]] T1]]].
  apply takes_true in T0, T1; try lia.
  pose proof (inverse_multiple b a0 Hb R0) as I0. pose proof (inverse_multiple b a1 Hb R1) as I1.
  set (move := fun k : Z * Z => let a' := turn b a0 a1 (snd k) in ((u' - a' * x) mod 2^b, a')).
  unfold ways. rewrite <- (map_length move). apply NoDup_incl_length.
  - apply map_nodup; [|apply NoDup_filter, round_keys_nodup].
    intros [c a] [d e] Hk Hl E. apply filter_In in Hk, Hl.
    destruct Hk as [Hk Tk], Hl as [Hl Tl]. apply in_round_keys in Hk, Hl.
    destruct Hk as [Hc [Ha _]], Hl as [Hd [He _]].
    apply takes_true in Tk, Tl; try lia.
    unfold move in E. cbn [snd] in E. apply (f_equal snd) in E. cbn [snd] in E. unfold turn in E.
    assert (A : a = e).
    { generalize dependent (odd_inverse a0 b). generalize dependent (odd_inverse a1 b).
      intros i1 I1 i0 I0 E.
      rewrite <- (multiple_mod (2^b) e a Ha); [now apply Z.mod_small|].
      apply (mod_multiple _ _ _ Hn) in E. destruct E as [k E].
      pose proof (Z.div_mod (e * (a1 * i0)) (2^b) ltac:(lia)) as Q.
      destruct I0 as [k0 I0], I1 as [k1 I1].
      (* multiply by [a0 i1] *)
      exists (- (a0 * i1 * (k - e * (a1 * i0) / 2^b)) + (a - e) * (k0 * (a1 * i1) + k1)).
      assert (M : (a - e) * (a1 * i0) = 2^b * (k - e * (a1 * i0) / 2^b)) by lia.
      assert (S : (a - e) * (a0 * i0) * (a1 * i1) = 2^b * (a0 * i1 * (k - e * (a1 * i0) / 2^b))).
      { replace ((a - e) * (a0 * i0) * (a1 * i1)) with ((a - e) * (a1 * i0) * (a0 * i1)) by ring.
        rewrite M. ring. }
      rewrite I0 in S. rewrite I1 in S |- *.
      replace ((a - e) * (1 + 2^b * k0) * (1 + 2^b * k1))
        with ((a - e) + 2^b * ((a - e) * (k0 * (1 + 2^b * k1) + k1))) in S by ring.
      replace (2^b * (- (a0 * i1 * (k - e * (a1 * i0) / 2^b)) + (a - e) * (k0 *
        (1 + 2^b * k1) + k1)))
        with (2^b * ((a - e) * (k0 * (1 + 2^b * k1) + k1)) - 2^b * (a0 * i1 * (k - e *
          (a1 * i0) / 2^b)))
        by ring.
      lia. }
    subst e. f_equal. destruct Tk as [[k Tk] _], Tl as [[k' Tl] _].
    rewrite <- (Z.mod_small d (2^b)) by assumption. symmetry. apply multiple_mod; [exact Hc|].
    exists (k' - k). replace (2^b * (k' - k)) with (2^b * k' - 2^b * k) by ring. lia.
  - intros k' Hk'. apply in_map_iff in Hk'. destruct Hk' as [[c a] [<- Hk]].
    apply filter_In in Hk. destruct Hk as [Hk T]. apply in_round_keys in Hk.
    destruct Hk as [_ [_ R]]. apply takes_true in T; [|lia]. apply filter_In.
    unfold move. cbn [snd]. split.
    + apply in_round_keys. unfold in_key. repeat split; try (apply mod_below; lia).
      now apply turn_residue.
    + unfold takes. rewrite Bool.andb_true_iff, !Z.eqb_eq. split.
      * rewrite Z.add_mod_idemp_r by lia.
        replace (turn b a0 a1 a * x + (u' - turn b a0 a1 a * x)) with u' by ring.
        now apply Z.mod_small.
      * rewrite Z.add_mod_idemp_r by lia. apply multiple_mod; [exact Hv'|].
        unfold turn. generalize dependent (odd_inverse a0 b). intros i0 I0.
        pose proof (Z.div_mod (a * (a1 * i0)) (2^b) ltac:(lia)) as Q.
        set (q := a * (a1 * i0) / 2^b) in *. set (a' := (a * (a1 * i0)) mod 2^b) in *.
        destruct I0 as [k0 I0], T as [[t1 E1] [t2 E2]], T0 as [[t3 E3] [t4 E4]],
          T1 as [[t5 E5] [t6 E6]].
        (* a (y - x) = a0 (y - x), and a1 (y - x) = v' - u', up to multiples *)
        assert (D : a * (y - x) = a0 * (y - x) + 2^b * (t2 - t1 - t4 + t3)).
        { replace (2^b * (t2 - t1 - t4 + t3)) with (2^b * t2 - 2^b * t1 - 2^b * t4 + 2^b * t3)
            by ring.
          lia. }
        assert (F : a1 * (y - x) = v' - u' + 2^b * (t6 - t5)).
        { replace (2^b * (t6 - t5)) with (2^b * t6 - 2^b * t5) by ring. lia. }
        exists (a1 * i0 * (t2 - t1 - t4 + t3) + (t6 - t5) + a1 * (y - x) * k0 - q * (y - x)).
        assert (G : a * (a1 * i0) * (y - x) = v' - u' +
          2^b * (a1 * i0 * (t2 - t1 - t4 + t3) + (t6 - t5) + a1 * (y - x) * k0)).
        { replace (a * (a1 * i0) * (y - x)) with (a1 * i0 * (a * (y - x))) by ring. rewrite D.
          replace (a1 * i0 * (a0 * (y - x) + 2^b * (t2 - t1 - t4 + t3)))
            with (a1 * (y - x) * (a0 * i0) + 2^b * (a1 * i0 * (t2 - t1 - t4 + t3))) by ring.
          rewrite I0.
          replace (a1 * (y - x) * (1 + 2^b * k0))
            with (a1 * (y - x) + 2^b * (a1 * (y - x) * k0)) by ring.
          rewrite F. ring. }
        assert (A' : a' * (y - x) = a * (a1 * i0) * (y - x) - 2^b * (q * (y - x))).
        { replace a' with (a * (a1 * i0) - 2^b * q) by lia. ring. }
        replace (a' * y + (u' - a' * x)) with (a' * (y - x) + u') by ring. rewrite A', G. ring.
Qed.

(** Every pair that some key reaches is reached by equally many keys. *)
Theorem pair_uniform b x y u v u' v' : 3 <= b <= 64 ->
  below (2^b) u -> below (2^b) v -> below (2^b) u' -> below (2^b) v' ->
  (0 < ways b x y u v)%nat -> (0 < ways b x y u' v')%nat -> ways b x y u v = ways b x y u' v'.
Proof. intros. apply Nat.le_antisymm; now apply ways_le. Qed.

(** And it reaches the pairs whose difference is a key's multiple of the difference before. *)
Theorem pair_reached b x y u v : 3 <= b <= 64 -> below (2^b) u -> below (2^b) v ->
  (0 < ways b x y u v)%nat <->
  exists a, below (2^b) a /\ (a mod 8 = 3 \/ a mod 8 = 5) /\
    (a * (y - x)) mod 2^b = (v - u) mod 2^b.
Proof.
  intros Hb Hu Hv. pose proof (pow2_pos b ltac:(lia)) as Hn. unfold ways. split.
  - destruct (filter (takes b x y u v) (round_keys b)) as [|[c a] l] eqn:E; [cbn; lia|]. intros _.
    assert (I : In (c, a) (filter (takes b x y u v) (round_keys b))) by (rewrite E; now left).
    apply filter_In in I. destruct I as [K T]. apply in_round_keys in K. destruct K as [_ [Ha R]].
    apply takes_true in T; [|lia]. destruct T as [[k E1] [k' E2]].
    exists a. repeat split; try apply Ha; [exact R|].
    replace (a * (y - x)) with (v - u + (k' - k) * 2^b).
    + now apply Z.mod_add; lia.
    + replace ((k' - k) * 2^b) with (2^b * k' - 2^b * k) by ring. lia.
  - intros [a [Ha [R E]]].
    assert (I : In ((u - a * x) mod 2^b, a) (filter (takes b x y u v) (round_keys b))).
    { apply filter_In. split.
      - apply in_round_keys. repeat split; try (apply mod_below; lia); try apply Ha. exact R.
      - unfold takes. rewrite Bool.andb_true_iff, !Z.eqb_eq. rewrite !Z.add_mod_idemp_r by lia.
        split.
        + replace (a * x + (u - a * x)) with u by ring. now apply Z.mod_small.
        + replace (a * y + (u - a * x)) with (a * (y - x) + u) by ring.
          rewrite <- Z.add_mod_idemp_l, E, Z.add_mod_idemp_l by lia.
          replace (v - u + u) with v by ring. now apply Z.mod_small. }
    destruct (filter (takes b x y u v) (round_keys b)); [destruct I | cbn; lia].
Qed.

(** Differences of one class: one is the other times a number that is 1 or 7 modulo 8. *)
Definition same_class b d d' :=
  exists g, (g mod 8 = 1 \/ g mod 8 = 7) /\ (g * d) mod 2^b = d' mod 2^b.

Lemma class_odd g : g mod 8 = 1 \/ g mod 8 = 7 -> odd g.
Proof.
  intros H. unfold odd. pose proof (Z.div_mod g 8). pose proof (Z.div_mod g 2).
  pose proof (Z.mod_pos_bound g 2). destruct H; lia.
Qed.

Lemma same_class_sym b d d' : 3 <= b <= 64 -> same_class b d d' -> same_class b d' d.
Proof.
  intros Hb [g [R E]]. pose proof (pow2_pos b ltac:(lia)) as Hn.
  pose proof (odd_inverse_right g b (class_odd g R) ltac:(lia)) as I.
  exists (odd_inverse g b). generalize dependent (odd_inverse g b). intros i I. split.
  - apply (f_equal (fun z => z mod 8)) in I. rewrite !mod8 in I by lia.
    rewrite Z.mul_mod in I by lia. change (1 mod 8) with 1 in I.
    pose proof (Z.mod_pos_bound i 8 ltac:(lia)) as B. set (j := i mod 8) in *. clearbody j.
    assert (C : j = 0 \/ j = 1 \/ j = 2 \/ j = 3 \/ j = 4 \/ j = 5 \/ j = 6 \/ j = 7) by lia.
    destruct R as [R | R]; rewrite R in I;
      destruct C as [-> | [-> | [-> | [-> | [-> | [-> | [-> | ->]]]]]]];
      auto; vm_compute in I; discriminate.
  - rewrite <- Z.mul_mod_idemp_r, <- E, Z.mul_mod_idemp_r by lia.
    replace (i * (g * d)) with (g * i * d) by ring.
    rewrite <- Z.mul_mod_idemp_l, I, Z.mul_mod_idemp_l by lia. f_equal. ring.
Qed.

Lemma class_reached b x y u v u' v' : 3 <= b <= 64 ->
  below (2^b) u -> below (2^b) v -> below (2^b) u' -> below (2^b) v' ->
  same_class b (v - u) (v' - u') -> (0 < ways b x y u v)%nat -> (0 < ways b x y u' v')%nat.
Proof.
  intros Hb Hu Hv Hu' Hv' [g [R E]] P. pose proof (pow2_pos b ltac:(lia)) as Hn.
  apply pair_reached in P; auto. destruct P as [a [_ [Q F]]].
  apply pair_reached; auto. exists ((a * g) mod 2^b). repeat split; try (apply mod_below; lia).
  - rewrite mod8, Z.mul_mod by lia. destruct R as [-> | ->], Q as [-> | ->]; cbn; auto.
  - rewrite Z.mul_mod_idemp_l by lia. replace (a * g * (y - x)) with (g * (a * (y - x))) by ring.
    rewrite <- Z.mul_mod_idemp_r, F, Z.mul_mod_idemp_r by lia. exact E.
Qed.

(** Whatever two points were before the round: pairs whose differences are of one class are reached
    by equally many keys. So after any number of rounds the law of a pair is one on classes. *)
Theorem class_uniform b x y u v u' v' : 3 <= b <= 64 ->
  below (2^b) u -> below (2^b) v -> below (2^b) u' -> below (2^b) v' ->
  same_class b (v - u) (v' - u') -> ways b x y u v = ways b x y u' v'.
Proof.
  intros Hb Hu Hv Hu' Hv' C. pose proof (class_reached b x y u v u' v' Hb Hu Hv Hu' Hv' C) as A.
  apply same_class_sym in C; [|exact Hb].
  pose proof (class_reached b x y u' v' u v Hb Hu' Hv' Hu Hv C) as B.
  destruct (Nat.eq_0_gt_0_cases (ways b x y u v)) as [E | P].
  - destruct (Nat.eq_0_gt_0_cases (ways b x y u' v')) as [F | Q]; [congruence|]. apply B in Q. lia.
  - apply pair_uniform; auto.
Qed.

(** The same for two items, whose order is that of their slots. Here the first round decides. *)
Definition slot_of b first rest item := inverse (mul_xorshift b (first :: rest)) item.

Definition flip_first b z z' '((c, a) : Z * Z) := ((z + z' - c) mod 2^b, (- a) mod 2^b).

(** Where an item is after the undoing of all rounds but the first one's affine map. *)
Definition undone b rest item :=
  inverse (xorshift (half b + 0 mod 2)) (inverse (mul_xorshift_rounds b 1 rest) item).

Lemma negative_key b c a : 3 <= b -> in_key b (c, a) ->
  let a' := (- a) mod 2^b in below (2^b) a' /\ (a' mod 8 = 3 \/ a' mod 8 = 5).
Proof.
  intros Hb H. destruct (flip_key b 0 0 (c, a) Hb H) as [_ K]. exact K.
Qed.

Lemma flip_first_key b z z' k : 3 <= b -> in_key b k -> in_key b (flip_first b z z' k).
Proof.
  intros Hb H. destruct k as [c a]. split; [apply mod_below; lia|].
  exact (negative_key b c a Hb H).
Qed.

Lemma flip_first_twice b z z' k : 0 <= b -> in_key b k ->
  flip_first b z z' (flip_first b z z' k) = k.
Proof.
  intros Hb H. pose proof (flip_twice b 0 0 k Hb H) as T. destruct k as [c a].
  destruct H as [Hc _]. unfold flip, flip_first in *. apply (f_equal snd) in T. cbn [snd] in T.
  rewrite T. f_equal. rewrite Zminus_mod_idemp_r.
  replace (z + z' - (z + z' - c)) with c by ring. now apply Z.mod_small.
Qed.

(** The other key leads from one item's point to the other's. *)
Lemma flip_first_undoes b z z' c a : 3 <= b <= 64 -> below (2^b) z -> below (2^b) z' ->
  in_key b (c, a) ->
  let '(c', a') := flip_first b z z' (c, a) in
  inverse (affine b a' c') z = inverse (affine b a c) z'.
Proof.
  intros Hb Hz Hz' K. destruct (flip_first_key b z z' (c, a) ltac:(lia) K) as [_ [_ R']].
  destruct K as [_ [_ R]]. cbn [flip_first] in *.
  destruct (affine_bijection b a c ltac:(lia) (key_odd a R) z' Hz') as [_ [P Q]].
  set (p := inverse (affine b a c) z') in *. pose proof (pow2_pos b ltac:(lia)).
  destruct (affine_bijection b _ ((z + z' - c) mod 2^b) ltac:(lia) (key_odd _ R') p P)
    as [[_ B] _].
  rewrite <- B. f_equal. cbn [affine forward] in Q |- *.
  rewrite Z.add_mod_idemp_r, <- Z.add_mod_idemp_l, Z.mul_mod_idemp_l, Z.add_mod_idemp_l by lia.
  replace (- a * p + (z + z' - c)) with (z + z' - (a * p + c)) by ring.
  rewrite <- Zminus_mod_idemp_r, Q. replace (z + z' - z') with z by ring.
  symmetry. now apply Z.mod_small.
Qed.

Lemma slot_of_affine b c a rest item : slot_of b (c, a) rest item =
  inverse (xorshift (half b + 1)) (inverse (affine b a c) (undone b rest item)).
Proof. reflexivity. Qed.

Lemma undone_below b rest item : 0 <= b <= 64 -> Forall (fun '(_, a) => odd a) rest ->
  below (2^b) item -> below (2^b) (undone b rest item).
Proof.
  intros Hb O Hi. pose proof (half_bounds b). unfold undone. change (0 mod 2) with 0.
  apply (xorshift_bijection b (half b + 0)); try lia.
  now apply (mul_xorshift_rounds_bijection b 1 rest Hb O).
Qed.

Theorem flip_first_exchanges b rest k w w' : 3 <= b <= 64 ->
  Forall (fun '(_, a) => odd a) rest -> below (2^b) w -> below (2^b) w' -> in_key b k ->
  let other := flip_first b (undone b rest w) (undone b rest w') k in
  slot_of b other rest w = slot_of b k rest w' /\ slot_of b other rest w' = slot_of b k rest w.
Proof.
  intros Hb O Hw Hw' K. cbn zeta.
  pose proof (undone_below b rest w ltac:(lia) O Hw) as Z0.
  pose proof (undone_below b rest w' ltac:(lia) O Hw') as Z1.
  destruct k as [c a].
  pose proof (flip_first_undoes b _ _ c a Hb Z0 Z1 K) as F.
  pose proof (flip_first_undoes b _ _ c a Hb Z1 Z0 K) as G.
  unfold flip_first in *. rewrite !slot_of_affine.
  rewrite (Z.add_comm (undone b rest w')) in G. now rewrite F, G.
Qed.

(** How many keys of the first round put an item before another. *)
Definition items_ordered b rest w w' :=
  length (filter (fun k => slot_of b k rest w <? slot_of b k rest w') (round_keys b)).

Lemma items_ordered_le b rest w w' : 3 <= b <= 64 ->
  Forall (fun '(_, a) => odd a) rest -> below (2^b) w -> below (2^b) w' ->
  (items_ordered b rest w w' <= items_ordered b rest w' w)%nat.
Proof.
  intros Hb O Hw Hw'.
  apply (counts_le b (flip_first b (undone b rest w) (undone b rest w'))). intros k Hk.
  repeat split.
  - apply flip_first_key; [lia | exact Hk].
  - apply flip_first_twice; [lia | exact Hk].
  - destruct (flip_first_exchanges b rest k w w' Hb O Hw Hw' Hk) as [F G]. now rewrite F, G.
Qed.

(** Two items come in either order equally often, at every length: compaction keeps the order. *)
Theorem item_order_fair b rest w w' : 3 <= b <= 64 ->
  Forall (fun '(_, a) => odd a) rest -> below (2^b) w -> below (2^b) w' ->
  items_ordered b rest w w' = items_ordered b rest w' w.
Proof. intros. apply Nat.le_antisymm; now apply items_ordered_le. Qed.
