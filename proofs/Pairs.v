(** Theorem 3 of docs/proof.md, and what follows for single items, for every width from 3 bits on and
    any number of rounds: whatever the keys of the rounds before are, the last one makes any two
    slots' values come in either order equally often, and gives each slot each value equally often.

    The proof is another one than on that page: it names the key that exchanges the two values. *)

From Proofs Require Export MulXorshift.

(** The keys of a round: an increment, and a multiplier that is 3 or 5 modulo 8. *)
Definition in_key b '(c, a) := below (2^b) c /\ below (2^b) a /\ (a mod 8 = 3 \/ a mod 8 = 5).

Definition round_keys b :=
  filter (fun '(_, a) => ((a mod 8 =? 3) || (a mod 8 =? 5))%bool) (list_prod (range (2^b)) (range (2^b))).

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
    replace (r + 1 + Z.of_nat (length key)) with (r + Z.of_nat (S (length key))) by lia. reflexivity.
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

Lemma ordered_le b key i j : 3 <= b -> (ordered b key i j <= ordered b key j i)%nat.
Proof.
  intros Hb. unfold ordered.
  set (x := forward (mul_xorshift b key) i). set (y := forward (mul_xorshift b key) j).
  rewrite <- (map_length (flip b x y)). apply NoDup_incl_length.
  - apply map_nodup; [|apply NoDup_filter, round_keys_nodup].
    intros k l Hk Hl E. apply filter_In in Hk, Hl. destruct Hk as [Hk _], Hl as [Hl _].
    apply in_round_keys in Hk, Hl.
    rewrite <- (flip_twice b x y k), <- (flip_twice b x y l) by (auto; lia). now rewrite E.
  - intros k Hk. apply in_map_iff in Hk. destruct Hk as [l [<- Hl]].
    apply filter_In in Hl. destruct Hl as [Hl O]. apply filter_In. split.
    + apply in_round_keys. apply in_round_keys in Hl. now apply flip_key.
    + destruct (flip_exchanges b key l i j ltac:(lia)) as [F G]. fold x y in F, G.
      now rewrite F, G.
Qed.

(** Two values come in either order equally often. *)
Theorem pair_order_fair b key i j : 3 <= b -> ordered b key i j = ordered b key j i.
Proof. intros Hb. apply Nat.le_antisymm; now apply ordered_le. Qed.

(** For every multiplier of the last round, one increment gives a slot a value. *)
Theorem single_value_fair b key a slot v : 0 <= b -> below (2^b) v ->
  exists c, below (2^b) c /\ value b key (c, a) slot = v /\
    forall d, below (2^b) d -> value b key (d, a) slot = v -> d = c.
Proof.
  intros Hb Hv. pose proof (pow2_pos b Hb). pose proof (half_bounds b).
  pose proof (Z.mod_pos_bound (Z.of_nat (length key)) 2).
  assert (X := xorshift_bijection b (half b + Z.of_nat (length key) mod 2) Hb ltac:(lia) ltac:(lia)).
  set (x := a * forward (mul_xorshift b key) slot). set (t := half b + _ mod 2) in *.
  destruct (X v Hv) as [_ [I J]].
  exists ((inverse (xorshift t) v - x) mod 2^b). split; [now apply mod_below|].
  rewrite !value_affine. fold x t. split.
  - rewrite Z.add_mod_idemp_r by lia. replace (x + (inverse (xorshift t) v - x)) with (inverse (xorshift t) v) by ring.
    now rewrite Z.mod_small.
  - intros d Hd E. rewrite value_affine in E. fold x t in E.
    assert (F : inverse (xorshift t) v = (x + d) mod 2^b).
    { rewrite <- E. apply X. now apply mod_below. }
    rewrite F, Zminus_mod_idemp_l. replace (x + d - x) with d by ring. symmetry. now apply Z.mod_small.
Qed.
