(** Chapter 1 of the specification: numbers of [b] bits, their operations, and odd inverses. *)

From Proofs Require Export Bijection.

Infix ">>" := Z.shiftr (at level 40, left associativity).
Infix "<<" := Z.shiftl (at level 40, left associativity).
Infix "^^" := Z.lxor (at level 50, left associativity).

(** The smallest [b >= 0] with [2^b >= m]. *)
Definition bits m := Z.log2_up m.

(** [ceil(b / 2)] *)
Definition half b := (b + 1) / 2.

Definition low x := x mod 2^32.
Definition high x := x >> 32.
Definition join a b := a + 2^32 * b.

(** The inverse of an odd number modulo [2^b]: five steps modulo [2^64], as specified. *)
Definition newton a y := (y * (2 - a * y)) mod 2^64.
Definition odd_inverse a b := (newton a (newton a (newton a (newton a (newton a a))))) mod 2^b.

Definition odd a := a mod 2 = 1.

Lemma bits_above m : m <= 2 ^ bits m.
Proof.
  unfold bits. destruct (Z.le_gt_cases m 1) as [H | H].
  - rewrite Z.log2_up_eqn0 by lia. cbn. lia.
  - apply Z.log2_up_spec. lia.
Qed.

Lemma bits_nonneg m : 0 <= bits m.
Proof. apply Z.log2_up_nonneg. Qed.

Lemma bits_le64 m : m <= 2^64 -> bits m <= 64.
Proof.
  intros H. unfold bits. replace 64 with (Z.log2_up (2^64)) by reflexivity.
  now apply Z.log2_up_le_mono.
Qed.

Lemma half_bounds b : b <= 2 * half b <= b + 1.
Proof.
  unfold half. pose proof (Z.div_mod (b + 1) 2). pose proof (Z.mod_pos_bound (b + 1) 2). lia.
Qed.

Lemma pow2_pos b : 0 <= b -> 0 < 2^b.
Proof. intros. now apply Z.pow_pos_nonneg. Qed.

Lemma mod_below b x : 0 <= b -> below (2^b) (x mod 2^b).
Proof. intros. apply Z.mod_pos_bound. now apply pow2_pos. Qed.

(** A number has no more than [b] bits if nothing is left of it after a shift by [b]. *)
Lemma below_shift b x : 0 <= b -> (below (2^b) x <-> 0 <= x /\ x >> b = 0).
Proof.
  intros Hb. unfold below. rewrite Z.shiftr_div_pow2 by lia.
  pose proof (pow2_pos b Hb). split.
  - intros []. split; [lia|]. now apply Z.div_small.
  - intros [H0 H1]. split; [lia|]. apply Z.div_small_iff in H1; lia.
Qed.

Lemma xor_below b x y : 0 <= b -> below (2^b) x -> below (2^b) y -> below (2^b) (x ^^ y).
Proof.
  intros Hb Hx Hy. apply below_shift in Hx, Hy; try lia. apply below_shift; [lia|].
  destruct Hx as [X0 X1], Hy as [Y0 Y1]. split.
  - now apply Z.lxor_nonneg.
  - now rewrite Z.shiftr_lxor, X1, Y1.
Qed.

Lemma shift_below b t x : 0 <= b -> 0 <= t -> below (2^b) x -> below (2^b) (x >> t).
Proof.
  intros Hb Ht H. apply below_shift in H; [|lia]. apply below_shift; [lia|].
  destruct H as [H0 H1]. split.
  - now apply Z.shiftr_nonneg.
  - rewrite Z.shiftr_shiftr, Z.add_comm, <- Z.shiftr_shiftr, H1 by lia. apply Z.shiftr_0_l.
Qed.

(** One step doubles the number of right bits, up to 64. *)
Lemma newton_step a y m : 0 <= m <= 64 ->
  (2^m | 1 - a * y) -> (2^(Z.min (2 * m) 64) | 1 - a * newton a y).
Proof.
  intros Hm [q Hq]. unfold newton.
  set (z := y * (2 - a * y)).
  assert (E : exists k, z mod 2^64 = z + k * 2^64).
  { exists (- (z / 2^64)). pose proof (Z.div_mod z (2^64)). lia. }
  destruct E as [k ->].
  replace (1 - a * (z + k * 2^64)) with ((1 - a * y) * (1 - a * y) + - (a * k) * 2^64)
    by (unfold z; ring).
  apply Z.divide_add_r.
  - exists (q * q * 2^(2 * m - Z.min (2 * m) 64)). rewrite Hq.
    replace (q * 2^m * (q * 2^m)) with (q * q * (2^m * 2^m)) by ring.
    rewrite <- Z.pow_add_r by lia.
    replace (m + m) with ((2 * m - Z.min (2 * m) 64) + Z.min (2 * m) 64) by lia.
    rewrite Z.pow_add_r by lia. ring.
  - apply Z.divide_mul_r. exists (2^(64 - Z.min (2 * m) 64)).
    rewrite <- Z.pow_add_r by lia. f_equal. lia.
Qed.

(** The square of an odd number is 1 modulo 8, so the number itself is right to three bits. *)
Lemma odd_square a : odd a -> (2^3 | 1 - a * a).
Proof.
  unfold odd. intros H. pose proof (Z.div_mod a 2). set (k := a / 2) in *.
  replace a with (2 * k + 1) by lia.
  exists (- (k * (k + 1) / 2)).
  assert (E : k * (k + 1) mod 2 = 0).
  { rewrite Z.mul_mod, Z.add_mod by lia.
    assert (k mod 2 = 0 \/ k mod 2 = 1) as [-> | ->] by (pose proof (Z.mod_pos_bound k 2); lia);
      reflexivity. }
  pose proof (Z.div_mod (k * (k + 1)) 2). change (2^3) with 8. lia.
Qed.

(** Odd numbers are units modulo [2^b]. *)
Theorem odd_inverse_right a b : odd a -> 0 <= b <= 64 -> (a * odd_inverse a b) mod 2^b = 1 mod 2^b.
Proof.
  intros Ha Hb. unfold odd_inverse.
  pose proof (odd_square a Ha) as H.
  do 5 (apply newton_step in H; [|lia]).
  cbn [Z.mul Z.min Z.compare Pos.mul Pos.compare Pos.compare_cont] in H.
  set (y := newton a _) in *. destruct H as [q Hq].
  rewrite Z.mul_mod_idemp_r by (pose proof (pow2_pos b); lia).
  replace (a * y) with (1 + - (q * 2^(64 - b)) * 2^b).
  - rewrite Z.mod_add; [reflexivity | pose proof (pow2_pos b); lia].
  - replace (- (q * 2^(64 - b)) * 2^b) with (- (q * (2^(64 - b) * 2^b))) by ring.
    rewrite <- Z.pow_add_r by lia. replace (64 - b + b) with 64 by lia. lia.
Qed.

(** Multiplication by an odd number modulo [2^b], and back. *)
Lemma odd_cancel a b x : odd a -> 0 <= b <= 64 -> below (2^b) x ->
  (a * x * odd_inverse a b) mod 2^b = x.
Proof.
  intros Ha Hb Hx. pose proof (pow2_pos b).
  rewrite (Z.mul_comm a x), <- Z.mul_assoc.
  rewrite <- Z.mul_mod_idemp_r, odd_inverse_right, Z.mul_mod_idemp_r, Z.mul_1_r by (auto; lia).
  now apply Z.mod_small.
Qed.

(** The affine map [a x + c] modulo [2^b]; family [Lcg] of chapter 5 is this map. *)
Definition affine b a c :=
  Maps (fun x => (a * x + c) mod 2^b) (fun x => ((x - c) * odd_inverse a b) mod 2^b).

Theorem affine_bijection b a c : 0 <= b <= 64 -> odd a -> bijection (below (2^b)) (affine b a c).
Proof.
  intros Hb Ha x Hx. pose proof (pow2_pos b). cbn.
  repeat split; try (apply mod_below; lia).
  - rewrite <- Z.mul_mod_idemp_l, Zminus_mod_idemp_l by lia.
    replace (a * x + c - c) with (a * x) by ring.
    rewrite Z.mul_mod_idemp_l by lia. now apply odd_cancel.
  - rewrite <- Z.add_mod_idemp_l, Z.mul_mod_idemp_r, Z.add_mod_idemp_l by lia.
    rewrite Z.mul_shuffle3.
    rewrite <- Z.add_mod_idemp_l, <- Z.mul_mod_idemp_r, odd_inverse_right by (auto; lia).
    rewrite Z.mul_mod_idemp_r, Z.mul_1_r, Z.add_mod_idemp_l by lia.
    replace (x - c + c) with x by ring. now apply Z.mod_small.
Qed.
