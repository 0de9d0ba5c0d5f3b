(** The family [MulXorshift] of chapter 5: an affine map and a xorshift in every round. *)

From Proofs Require Export Words.

(** [x ^ (x >> t)], which is its own inverse if twice the shift is at least the width. *)
Definition xorshift t := Maps (fun x => x ^^ (x >> t)) (fun x => x ^^ (x >> t)).

(** Round [r] with the increment [c] and the multiplier [a], on [b] bits. *)
Definition mul_xorshift_round b r c a := compose (affine b a c) (xorshift (half b + r mod 2)).

(** The rounds from number [r] on, whose keys are a list of increments and multipliers. *)
Fixpoint mul_xorshift_rounds b r key :=
  match key with
  | [] => identity
  | (c, a) :: rest => compose (mul_xorshift_round b r c a) (mul_xorshift_rounds b (r + 1) rest)
  end.

Definition mul_xorshift b key := compose (xorshift (half b + 1)) (mul_xorshift_rounds b 0 key).

(** The keys that words of 64 bits give: the lowest three bits of a multiplier become 5 or 3. *)
Definition multiplier w := 8 * (w / 8) + (if Z.testbit w 2 then 5 else 3).

Fixpoint mul_xorshift_key b words :=
  match words with
  | c :: w :: rest => (c mod 2^b, multiplier w mod 2^b) :: mul_xorshift_key b rest
  | _ => []
  end.

Theorem xorshift_bijection b t :
  0 <= b -> 0 <= t -> b <= 2 * t -> bijection (below (2^b)) (xorshift t).
Proof.
  intros Hb Ht H x Hx. cbn.
  assert (R : below (2^b) (x ^^ (x >> t))) by (apply xor_below, shift_below; auto).
  assert (C : (x ^^ (x >> t)) ^^ ((x ^^ (x >> t)) >> t) = x).
  { rewrite Z.shiftr_lxor, Z.shiftr_shiftr by lia.
    replace (x >> (t + t)) with 0.
    - rewrite Z.lxor_0_r, Z.lxor_assoc, Z.lxor_nilpotent. apply Z.lxor_0_r.
    - apply below_shift in Hx; [|lia].
      replace (t + t) with (b + (2 * t - b)) by lia.
      rewrite <- Z.shiftr_shiftr by lia. destruct Hx as [_ ->]. now rewrite Z.shiftr_0_l. }
  auto.
Qed.

Lemma mul_xorshift_rounds_bijection b r key : 0 <= b <= 64 ->
  Forall (fun '(_, a) => odd a) key -> bijection (below (2^b)) (mul_xorshift_rounds b r key).
Proof.
  intros Hb H. revert r. induction H as [|[c a] rest Ha _ IH]; intros r; cbn [mul_xorshift_rounds].
  - apply identity_bijection.
  - apply compose_bijection; [|apply IH].
    apply compose_bijection; [now apply affine_bijection|].
    pose proof (half_bounds b). pose proof (Z.mod_pos_bound r 2).
    apply xorshift_bijection; lia.
Qed.

(** For every width, all increments and all odd multipliers. *)
Theorem mul_xorshift_bijection b key : 0 <= b <= 64 ->
  Forall (fun '(_, a) => odd a) key -> bijection (below (2^b)) (mul_xorshift b key).
Proof.
  intros Hb H. pose proof (half_bounds b). apply compose_bijection.
  - apply xorshift_bijection; lia.
  - now apply mul_xorshift_rounds_bijection.
Qed.

Lemma multiplier_odd w b : 1 <= b -> odd (multiplier w mod 2^b).
Proof.
  intros Hb. unfold odd, multiplier.
  replace (2^b) with (2 * 2^(b - 1)) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  pose proof (pow2_pos (b - 1)).
  rewrite Z.rem_mul_r, (Z.mul_comm 2), Z.mod_add, Z.mod_mod by lia.
  replace (8 * (w / 8)) with (4 * (w / 8) * 2) by ring.
  rewrite Z.add_comm, Z.mod_add by lia. now destruct (Z.testbit w 2).
Qed.

Lemma mul_xorshift_key_odd b words :
  1 <= b -> Forall (fun '(_, a) => odd a) (mul_xorshift_key b words).
Proof.
  intros Hb.
  enough (H : forall n words, (length words <= n)%nat ->
    Forall (fun '(_, a) => odd a) (mul_xorshift_key b words)) by (eapply H; eauto).
  induction n as [|n IH]; intros [|c [|w rest]] L; cbn in *; try constructor; try lia.
  - now apply multiplier_odd.
  - apply IH. lia.
Qed.

(** The family itself: for every length, and whatever the words of its key stream are. *)
Theorem mul_xorshift_family_bijection length words :
  length <= 2^64 -> let b := Z.max 2 (bits length) in
  bijection (below (2^b)) (mul_xorshift b (mul_xorshift_key b words)) /\ length <= 2^b.
Proof.
  intros H b. pose proof (bits_le64 _ H). split.
  - apply mul_xorshift_bijection; [lia|]. apply mul_xorshift_key_odd. lia.
  - pose proof (bits_above length). subst b.
    assert (2 ^ bits length <= 2 ^ Z.max 2 (bits length)).
    { apply Z.pow_le_mono_r; lia. }
    lia.
Qed.
