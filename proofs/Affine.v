(** The family [Affine] of chapter 5: [A x ^ c] over the field of two elements. *)

From Proofs Require Export Grid.

(** The exclusive or of all columns [i] for which bit [i] of [x] is set. *)
Fixpoint combine columns x :=
  match columns with
  | [] => 0
  | c :: rest => (if Z.odd x then c else 0) ^^ combine rest (x >> 1)
  end.

(** A matrix and its inverse, each a list of columns, and the offset. *)
Definition affine_bits columns inverses c :=
  Maps (fun x => combine columns x ^^ c) (fun y => combine inverses (y ^^ c)).

(** Columns found independent, each reduced by those before it, with the sum of columns that it is:
    [reduce] subtracts them from a word [y], and adds up which they were in [m]. *)
Definition reduce basis y m :=
  fold_left (fun '(y, m) '(v, k) => if Z.testbit y (Z.log2 v) then (y ^^ v, m ^^ k) else (y, m))
    basis (y, m).

(** The columns from number [i] on, what they were reduced to, and the words that are left. *)
Fixpoint draw_columns b i words basis :=
  match words with
  | [] => ([], basis, [])
  | w :: rest =>
    if i =? b then ([], basis, words) else
    let '(y, m) := reduce basis (w mod 2^b) (2^i) in
    if y =? 0 then draw_columns b i rest basis
    else
      let '(columns, basis, unused) := draw_columns b (i + 1) rest (basis ++ [(y, m)]) in
      (w mod 2^b :: columns, basis, unused)
  end.

(** The column of the inverse for each power of two: the columns of which it is the sum. *)
Definition inverse_columns b basis := map (fun i => snd (reduce basis (2^i) 0)) (range b).

Definition affine_drawn b words :=
  let '(columns, basis, unused) := draw_columns b 0 words [] in
  affine_bits columns (inverse_columns b basis) (nth 0 unused 0 mod 2^b).

Lemma combine_xor columns x y : combine columns (x ^^ y) = combine columns x ^^ combine columns y.
Proof.
  revert x y. induction columns as [|c columns IH]; intros x y; [reflexivity|]. cbn [combine].
  rewrite Z.shiftr_lxor, IH, <- !Z.bit0_odd, Z.lxor_spec.
  destruct (Z.testbit x 0), (Z.testbit y 0); cbn [xorb]; rewrite ?Z.lxor_0_l; apply Z.bits_inj';
    intros i _; rewrite !Z.lxor_spec;
    destruct (Z.testbit c i), (Z.testbit (combine columns (x >> 1)) i),
      (Z.testbit (combine columns (y >> 1)) i); reflexivity.
Qed.

Lemma combine_zero columns : combine columns 0 = 0.
Proof.
  induction columns as [|c columns IH]; [reflexivity|]. cbn [combine Z.odd].
  rewrite Z.shiftr_0_l, IH. reflexivity.
Qed.

Lemma combine_below b columns x : 0 <= b ->
  Forall (below (2^b)) columns -> below (2^b) (combine columns x).
Proof.
  intros Hb H. pose proof (pow2_pos b Hb). revert x.
  induction H as [|c columns Hc _ IH]; intros x; cbn [combine]; [unfold below; lia|].
  apply xor_below; auto. destruct (Z.odd x); [exact Hc | unfold below; lia].
Qed.

(** A product of matrices, column by column. *)
Lemma combine_combine A B x : combine A (combine B x) = combine (map (combine A) B) x.
Proof.
  revert x. induction B as [|c B IH]; intros x; cbn [combine map]; [apply combine_zero|].
  rewrite combine_xor, IH. destruct (Z.odd x); [reflexivity | now rewrite combine_zero].
Qed.

(** The identity matrix. *)
Lemma combine_powers k n y : below (2^Z.of_nat n) y ->
  combine (map (fun i => 2^Z.of_nat i) (seq k n)) y = y << Z.of_nat k.
Proof.
  revert k y. induction n as [|n IH]; intros k y Hy.
  - cbn in *. replace y with 0 by (unfold below in Hy; lia). now rewrite Z.shiftl_0_l.
  - cbn [seq map combine]. rewrite IH.
    + apply Z.bits_inj'. intros i Hi. rewrite Z.lxor_spec.
      rewrite !Z.shiftl_spec by lia.
      destruct (Z.lt_trichotomy i (Z.of_nat k)) as [L | [-> | L]].
      * rewrite (Z.testbit_neg_r _ (i - Z.of_nat k)) by lia.
        replace (Z.testbit (if Z.odd y then 2 ^ Z.of_nat k else 0) i) with false.
        -- rewrite (Z.testbit_neg_r _ (i - Z.of_nat (S k))) by lia.
           reflexivity.
        -- destruct (Z.odd y); [rewrite Z.pow2_bits_false by lia;
             reflexivity | now rewrite Z.bits_0].
      * rewrite (Z.testbit_neg_r _ (Z.of_nat k - Z.of_nat (S k))) by lia.
        rewrite Z.sub_diag, Z.bit0_odd, Bool.xorb_false_r.
        destruct (Z.odd y); [now rewrite Z.pow2_bits_true by lia | now rewrite Z.bits_0].
      * replace (Z.testbit (if Z.odd y then 2 ^ Z.of_nat k else 0) i) with false.
        -- rewrite Z.shiftr_spec, Bool.xorb_false_l by lia. f_equal. lia.
        -- destruct (Z.odd y); [rewrite Z.pow2_bits_false by lia;
             reflexivity | now rewrite Z.bits_0].
    + unfold below in *. rewrite Nat2Z.inj_succ, Z.pow_succ_r in Hy by lia.
      rewrite Z.shiftr_div_pow2 by lia. change (2^1) with 2. split.
      * apply Z.div_pos; lia.
      * apply Z.div_lt_upper_bound; lia.
Qed.

(** On finitely many points a map that undoes another on one side does so on both. *)
Lemma one_side n f :
  (forall x, below n x -> below n (forward f x) /\ below n (inverse f x)) ->
  (forall y, below n y -> forward f (inverse f y) = y) -> bijection (below n) f.
Proof.
  intros B R x Hx. destruct (B x Hx) as [Bf Bi]. repeat split; try (apply Bf || apply Bi); auto.
  assert (N : NoDup (map (inverse f) (range n))).
  { apply map_nodup; [|apply range_nodup]. intros y z Hy Hz E. rewrite in_range in Hy, Hz.
    rewrite <- (R y Hy), <- (R z Hz). now rewrite E. }
  assert (I : incl (range n) (map (inverse f) (range n))).
  { apply NoDup_length_incl; auto.
    - now rewrite map_length.
    - intros y Hy. apply in_map_iff in Hy. destruct Hy as [z [<- Hz]]. rewrite in_range in *.
      now apply B. }
  assert (Hy : In x (map (inverse f) (range n))) by (apply I; now rewrite in_range).
  apply in_map_iff in Hy. destruct Hy as [y [<- Hy]]. rewrite in_range in Hy.
  now rewrite R.
Qed.

(** For every matrix that has an inverse, and every offset. *)
Theorem affine_bits_bijection b columns inverses c : 0 <= b ->
  Forall (below (2^b)) columns -> Forall (below (2^b)) inverses -> below (2^b) c ->
  map (combine columns) inverses = map (fun i => 2^i) (range b) ->
  bijection (below (2^b)) (affine_bits columns inverses c).
Proof.
  intros Hb HA HB Hc E. apply one_side.
  - intros x Hx. cbn. split; [apply xor_below | ]; auto using combine_below.
  - intros y Hy. cbn. rewrite combine_combine, E.
    unfold range. rewrite map_map, combine_powers, Z.shiftl_0_r.
    + now rewrite Z.lxor_assoc, Z.lxor_nilpotent, Z.lxor_0_r.
    + rewrite Z2Nat.id by lia. now apply xor_below.
Qed.
