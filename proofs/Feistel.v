(** The families [VariablePhilox] of chapter 5, a Feistel network on uneven halves, and
    [RandomSign]. *)

From Proofs Require Export Words.

Definition M := 0xd2b74407b1ce6e93.

Section Halves.
  (** The bits on the left and on the right. *)
  Variables L R : Z.

  Definition feistel_forward k '(l, r) :=
    let p := (M * l) mod 2^64 in
    ((high p ^^ k ^^ r) mod 2^L, Z.lor (low p << (R - L)) (r >> L) mod 2^R).

  Definition feistel_inverse k '(l, r) :=
    let old := ((r >> (R - L)) * odd_inverse (low M) 32) mod 2^L in
    let top := r mod 2^(R - L) in
    let p := (M * old) mod 2^64 in
    (old, Z.lor ((high p ^^ k ^^ l) mod 2^L) (top << L)).

  Definition feistel_round k := Maps (feistel_forward k) (feistel_inverse k).

  Definition halves '(l, r) := below (2^L) l /\ below (2^R) r.

  Definition split x := (x >> R, x mod 2^R).
  Definition unite '(l, r) := Z.lor (l << R) r.
End Halves.

Definition variable_philox b key :=
  let L := b / 2 in
  let R := b - L in
  renamed (split R) (unite R) (chain (map (feistel_round L R) key)).

(** Exchanges 0 and 1 if the lowest bit of a word is set, and if there are two points. *)
Definition sign w n :=
  let exchange x := if (Z.odd w && (1 <? n))%bool then
    (if x =? 0 then 1 else if x =? 1 then 0 else x) else x in
  Maps exchange exchange.

Definition random_sign w n f := compose f (sign w n).

(** Bits of [x] above those of [y] *)
Lemma lor_add x y k : 0 <= k -> below (2^k) y -> Z.lor (x << k) y = x * 2^k + y.
Proof.
  intros Hk Hy. rewrite <- Z.lxor_lor, <- Z.add_nocarry_lxor.
  - now rewrite Z.shiftl_mul_pow2.
  - apply Z.bits_inj'. intros i Hi. rewrite Z.land_spec, Z.bits_0.
    destruct (Z.lt_ge_cases i k).
    + now rewrite Z.shiftl_spec_low.
    + rewrite <- (Z.mod_small y (2^k)), Z.mod_pow2_bits_high, Bool.andb_false_r; auto.
  - apply Z.bits_inj'. intros i Hi. rewrite Z.land_spec, Z.bits_0.
    destruct (Z.lt_ge_cases i k).
    + now rewrite Z.shiftl_spec_low.
    + rewrite <- (Z.mod_small y (2^k)), Z.mod_pow2_bits_high, Bool.andb_false_r; auto.
Qed.

Lemma lor_comm_add x y k : 0 <= k -> Z.lor (y mod 2^k) (x << k) = x * 2^k + y mod 2^k.
Proof. intros Hk. rewrite Z.lor_comm. apply lor_add; [lia | now apply mod_below]. Qed.

(** The low and the high part of what two parts make. *)
Lemma parts x y k : 0 <= k -> below (2^k) y ->
  (x * 2^k + y) >> k = x /\ (x * 2^k + y) mod 2^k = y.
Proof.
  intros Hk Hy. pose proof (pow2_pos k Hk). rewrite Z.shiftr_div_pow2 by lia. split.
  - rewrite Z.div_add_l by lia. rewrite Z.div_small by assumption. lia.
  - rewrite Z.add_comm, Z.mod_add by lia. now apply Z.mod_small.
Qed.

Lemma parts_united x k : 0 <= k -> (x >> k) * 2^k + x mod 2^k = x.
Proof.
  intros Hk. pose proof (pow2_pos k Hk). rewrite Z.shiftr_div_pow2 by lia.
  pose proof (Z.div_mod x (2^k)). lia.
Qed.

Lemma parts_below x k n : 0 <= k -> 0 <= n -> below (2^(k + n)) x -> below (2^n) (x >> k).
Proof.
  intros Hk Hn [H0 H1]. pose proof (pow2_pos k Hk). rewrite Z.shiftr_div_pow2 by lia. split.
  - now apply Z.div_pos.
  - apply Z.div_lt_upper_bound; [lia|]. now rewrite <- Z.pow_add_r.
Qed.

Lemma united_below x y k n : 0 <= k -> 0 <= n ->
  below (2^n) x -> below (2^k) y -> below (2^(k + n)) (x * 2^k + y).
Proof. unfold below. intros Hk Hn Hx Hy. rewrite Z.pow_add_r by lia. nia. Qed.

Lemma split_unite L R : 0 <= L -> 0 <= R -> forall f, bijection (halves L R) f ->
  bijection (below (2^(R + L))) (renamed (split R) (unite R) f).
Proof.
  intros HL HR f Hf. eapply renamed_bijection; [| |apply Hf].
  - intros x Hx. unfold split, unite, halves.
    pose proof (mod_below R x HR). rewrite lor_add, parts_united by auto.
    auto using parts_below.
  - intros [l r] [Hl Hr]. unfold unite, split. rewrite lor_add by auto.
    destruct (parts l r R) as [-> ->]; auto using united_below.
Qed.

(** Only the low bits of both sides count in the low bits of an exclusive or. *)
Lemma xor_mod b x y : 0 <= b -> (x ^^ (y mod 2^b)) mod 2^b = (x ^^ y) mod 2^b.
Proof.
  intros Hb. apply Z.bits_inj'. intros i Hi. destruct (Z.lt_ge_cases i b).
  - now rewrite !Z.mod_pow2_bits_low, !Z.lxor_spec, Z.mod_pow2_bits_low by lia.
  - now rewrite !Z.mod_pow2_bits_high by lia.
Qed.

Lemma mod_mod_pow2 x a b : 0 <= a <= b -> (x mod 2^b) mod 2^a = x mod 2^a.
Proof.
  intros H. apply Z.bits_inj'. intros i Hi. destruct (Z.lt_ge_cases i a).
  - now rewrite !Z.mod_pow2_bits_low by lia.
  - now rewrite !Z.mod_pow2_bits_high by lia.
Qed.

(** What is added twice in the low bits is gone. *)
Lemma xor_twice b x y : 0 <= b -> (x ^^ ((x ^^ y) mod 2^b)) mod 2^b = y mod 2^b.
Proof.
  intros Hb. apply Z.bits_inj'. intros i Hi. destruct (Z.lt_ge_cases i b).
  - rewrite !Z.mod_pow2_bits_low, Z.lxor_spec, Z.mod_pow2_bits_low, Z.lxor_spec by lia.
    now destruct (Z.testbit x i), (Z.testbit y i).
  - now rewrite !Z.mod_pow2_bits_high by lia.
Qed.

(** The constant is odd, so its low word has an inverse on the left half. *)
Lemma low_unit L : 0 <= L <= 32 -> (M * odd_inverse (low M) 32) mod 2^L = 1 mod 2^L.
Proof.
  intros HL. assert (E := odd_inverse_right (low M) 32 eq_refl ltac:(lia)).
  generalize dependent (odd_inverse (low M) 32). intros i E.
  rewrite <- (mod_mod_pow2 _ L 32) by lia. unfold low in E.
  rewrite Z.mul_mod_idemp_l in E by lia. rewrite E. apply mod_mod_pow2. lia.
Qed.

Lemma low_product L l : 0 <= L <= 32 -> low ((M * l) mod 2^64) mod 2^L = (M * l) mod 2^L.
Proof. intros H. unfold low. now rewrite !mod_mod_pow2 by lia. Qed.

(** The low bits of the product determine the factor. *)
Lemma product_cancel L l : 0 <= L <= 32 -> below (2^L) l ->
  (low ((M * l) mod 2^64) * odd_inverse (low M) 32) mod 2^L = l.
Proof.
  intros HL Hl. assert (U := low_unit L HL). pose proof (pow2_pos L).
  rewrite <- Z.mul_mod_idemp_l, low_product, Z.mul_mod_idemp_l by lia.
  generalize dependent (odd_inverse (low M) 32). intros i U.
  rewrite (Z.mul_comm M), <- Z.mul_assoc, <- Z.mul_mod_idemp_r, U, Z.mul_mod_idemp_r, Z.mul_1_r
    by lia.
  now apply Z.mod_small.
Qed.

Theorem feistel_bijection L R k : 0 <= L <= 32 -> L <= R <= L + 1 ->
  bijection (halves L R) (feistel_round L R k).
Proof.
  intros HL HR [l r] [Hl Hr]. cbn [forward inverse feistel_round].
  set (d := R - L). assert (Rd : R = L + d) by lia.
  pose proof (pow2_pos L). pose proof (pow2_pos R). pose proof (pow2_pos d).
  unfold feistel_forward, feistel_inverse, halves. fold d.
  split; split.
  - (* forward stays *) split; apply mod_below; lia.
  - (* forward, then inverse *)
    set (p := (M * l) mod 2^64).
    assert (T : below (2^d) (r >> L)) by (apply parts_below; subst d; try lia; now rewrite <- Rd).
    assert (N : Z.lor (low p << d) (r >> L) mod 2^R = low p mod 2^L * 2^d + (r >> L)).
    { rewrite lor_add by (auto; lia). rewrite Rd, Z.pow_add_r, Z.mul_comm by lia.
      rewrite (Z.mul_comm (2^L)), Z.rem_mul_r by lia.
      replace ((2^d * low p + (r >> L)) mod 2^d) with (r >> L).
      - replace ((2^d * low p + (r >> L)) / 2^d) with (low p); [ring|].
        rewrite Z.add_comm, Z.mul_comm, Z.div_add, Z.div_small by (auto; lia). lia.
      - rewrite Z.add_comm, Z.mul_comm, Z.mod_add by lia. symmetry. now apply Z.mod_small. }
    rewrite N. destruct (parts (low p mod 2^L) (r >> L) d) as [-> ->]; [lia | exact T |].
    rewrite Z.mul_mod_idemp_l by lia. unfold p. rewrite product_cancel by (auto; lia).
    f_equal. rewrite xor_twice, lor_comm_add by lia. apply parts_united. lia.
  - (* inverse stays *)
    split; [apply mod_below; lia|].
    rewrite lor_comm_add by lia.
    rewrite Rd. apply united_below; try apply mod_below; lia.
  - (* inverse, then forward *)
    set (old := ((r >> d) * odd_inverse (low M) 32) mod 2^L).
    set (p := (M * old) mod 2^64).
    assert (O : low p mod 2^L = r >> d).
    { unfold p. rewrite low_product by lia. assert (U := low_unit L HL). unfold old.
      rewrite Z.mul_mod_idemp_r by lia.
      generalize dependent (odd_inverse (low M) 32). intros i _ _ U.
      rewrite Z.mul_shuffle3, <- Z.mul_mod_idemp_r, U, Z.mul_mod_idemp_r, Z.mul_1_r by lia.
      apply Z.mod_small, parts_below; try lia. now rewrite Z.add_comm, <- Rd. }
    rewrite lor_comm_add by lia.
    destruct (parts (r mod 2^d) ((high p ^^ k ^^ l) mod 2^L) L) as [S1 S2];
      [lia | apply mod_below; lia |].
    f_equal.
    + rewrite <- xor_mod, S2, xor_twice by lia. now apply Z.mod_small.
    + rewrite S1, lor_add by (try apply mod_below; lia).
      rewrite Rd, Z.pow_add_r, Z.mul_comm by lia.
      rewrite (Z.mul_comm (2^L)), Z.rem_mul_r by lia.
      replace ((2^d * low p + r mod 2^d) mod 2^d) with (r mod 2^d).
      * replace ((2^d * low p + r mod 2^d) / 2^d) with (low p).
        -- rewrite O, Z.add_comm, (Z.mul_comm (2^d)). apply parts_united. lia.
        -- rewrite Z.add_comm, Z.mul_comm, Z.div_add, (Z.div_small (r mod 2^d)); try lia.
           apply mod_below; lia.
      * rewrite Z.add_comm, Z.mul_comm, Z.mod_add, Z.mod_mod by lia. reflexivity.
Qed.

(** For every width up to 64 bits, odd or even, and any keys. *)
Theorem variable_philox_bijection b key :
  0 <= b <= 64 -> bijection (below (2^b)) (variable_philox b key).
Proof.
  intros Hb. unfold variable_philox.
  pose proof (Z.div_mod b 2). pose proof (Z.mod_pos_bound b 2).
  set (L := b / 2) in *. replace (2^b) with (2^((b - L) + L)) by (f_equal; lia).
  apply split_unite; try lia. apply chain_bijection.
  apply Forall_map, Forall_forall. intros k _. apply feistel_bijection; lia.
Qed.

Theorem sign_bijection w n : bijection (below n) (sign w n).
Proof.
  intros x Hx. unfold below in *. cbn. destruct (Z.odd w), (Z.ltb_spec 1 n); cbn; try lia.
  destruct (Z.eqb_spec x 0); [subst; cbn; lia|].
  destruct (Z.eqb_spec x 1); [subst; cbn; lia|].
  destruct (Z.eqb_spec x 0), (Z.eqb_spec x 1); lia.
Qed.

Theorem random_sign_bijection w n f :
  bijection (below n) f -> bijection (below n) (random_sign w n f).
Proof. intros H. apply compose_bijection; [exact H | apply sign_bijection]. Qed.
