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

(** What the draw knows of the columns [C] so far: each reduced word is the sum of columns that it
    is said to be, and has no bit where an earlier one has its highest. *)
Definition entry b C '((v, m) : Z * Z) :=
  0 < v /\ below (2^b) v /\ below (2^Z.of_nat (length C)) m /\ combine C m = v.

Fixpoint separated (basis : list (Z * Z)) :=
  match basis with
  | [] => True
  | (v, _) :: rest => Forall (fun '(w, _) => Z.testbit w (Z.log2 v) = false) rest /\ separated rest
  end.

Definition drawn b C basis :=
  Forall (below (2^b)) C /\ Forall (entry b C) basis /\ separated basis /\
  length basis = length C.

Lemma reduce_spec b C basis y m : 0 <= b -> Forall (entry b C) basis ->
  below (2^b) y -> below (2^Z.of_nat (length C)) m \/ m = 2^Z.of_nat (length C) ->
  forall k, Z.of_nat (length C) <= k -> (m < 2^k) ->
  let (y', m') := reduce basis y m in
  below (2^b) y' /\ below (2^k) m' /\ y' ^^ combine C m' = y ^^ combine C m.
Proof.
  intros Hb H Hy Hm k Hk Mk.
  assert (B : below (2^k) m) by (pose proof (pow2_pos (Z.of_nat (length C))); unfold below in *;
    lia).
  clear Hm Mk. revert y m Hy B. induction H as [|[v q] basis [V0 [V1 [Q E]]] _ IH]; intros y m Hy B.
  - cbn. auto.
  - unfold reduce. cbn [fold_left]. fold (reduce basis y m).
    destruct (Z.testbit y (Z.log2 v)); [|apply IH; auto].
    assert (Q' : below (2^k) q).
    { pose proof (Z.pow_le_mono_r 2 (Z.of_nat (length C)) k). unfold below in *. lia. }
    specialize (IH (y ^^ v) (m ^^ q) ltac:(now apply xor_below)
      ltac:(apply xor_below; auto; lia)).
    unfold reduce in IH. destruct (fold_left _ basis (y ^^ v, m ^^ q)) as [y' m'].
    destruct IH as [A [D F]]. repeat split; try apply A; try apply D.
    rewrite F, combine_xor, E. rewrite (Z.lxor_comm (combine C m)), Z.lxor_assoc.
    rewrite <- (Z.lxor_assoc v v), Z.lxor_nilpotent, Z.lxor_0_l. reflexivity.
Qed.

Lemma reduce_keeps basis y m p : Z.testbit y p = false ->
  Forall (fun '(w, _) => Z.testbit w p = false) basis ->
  Z.testbit (fst (reduce basis y m)) p = false.
Proof.
  intros Y H. revert y m Y. induction H as [|[v q] basis Hv _ IH]; intros y m Y; [exact Y|].
  unfold reduce. cbn [fold_left]. destruct (Z.testbit y (Z.log2 v)); apply IH; auto.
  rewrite Z.lxor_spec, Y, Hv. reflexivity.
Qed.

(** What is reduced has no bit where a reduced word has its highest. *)
Lemma reduce_clears b C basis y m : Forall (entry b C) basis -> separated basis ->
  Forall (fun '(v, _) => Z.testbit (fst (reduce basis y m)) (Z.log2 v) = false) basis.
Proof.
  intros H. revert y m. induction H as [|[v q] basis [V0 _] _ IH]; intros y m S; [constructor|].
  destruct S as [S1 S2]. unfold reduce. cbn [fold_left].
  destruct (Z.testbit y (Z.log2 v)) eqn:T.
  - constructor; [|now apply IH]. apply reduce_keeps; [|exact S1].
    rewrite Z.lxor_spec, T, Z.bit_log2 by lia. reflexivity.
  - constructor; [|now apply IH]. now apply reduce_keeps.
Qed.

Lemma combine_app C w m : below (2^Z.of_nat (length C)) m -> combine (C ++ [w]) m = combine C m.
Proof.
  revert m. induction C as [|c C IH]; intros m Hm; cbn [app combine].
  - cbn in Hm. unfold below in Hm. replace m with 0 by lia. reflexivity.
  - rewrite IH; [reflexivity|]. cbn [length] in Hm. rewrite Nat2Z.inj_succ in Hm.
    unfold below in *. rewrite Z.pow_succ_r in Hm by lia. rewrite Z.shiftr_div_pow2 by lia.
    change (2^1) with 2. split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia].
Qed.

Lemma combine_last C w : combine (C ++ [w]) (2^Z.of_nat (length C)) = w.
Proof.
  induction C as [|c C IH]; cbn [app combine length].
  - cbn. now rewrite Z.lxor_0_r.
  - rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia.
    rewrite Z.shiftr_div_pow2, Z.odd_mul by lia. change (2^1) with 2. cbn [Z.odd andb].
    rewrite Z.lxor_0_l, (Z.mul_comm 2), Z.div_mul by lia. exact IH.
Qed.

Lemma separated_app basis y m : separated basis ->
  Forall (fun '(v, _) => Z.testbit y (Z.log2 v) = false) basis -> separated (basis ++ [(y, m)]).
Proof.
  induction basis as [|[v q] basis IH]; intros S H; cbn; [repeat constructor|].
  destruct S as [S1 S2]. inversion_clear H as [|? ? H1 H2]. split; [|now apply IH].
  apply Forall_app. split; [exact S1 | now repeat constructor].
Qed.

(** One more column keeps what the draw knows. *)
Lemma drawn_more b C basis w y m : 0 <= b -> drawn b C basis ->
  reduce basis (w mod 2^b) (2^Z.of_nat (length C)) = (y, m) -> y <> 0 ->
  drawn b (C ++ [w mod 2^b]) (basis ++ [(y, m)]).
Proof.
  intros Hb [HC [HB [Sep L]]] E N. set (w' := w mod 2^b) in *.
  assert (W : below (2^b) w') by (now apply mod_below).
  pose proof (pow2_pos (Z.of_nat (length C)) ltac:(lia)) as P.
  assert (K : Forall (entry b (C ++ [w'])) basis).
  { apply (Forall_impl _ (P := entry b C)); [|exact HB]. intros [v q] [V0 [V1 [Q F]]].
    repeat split; try apply V1; try apply Q; try lia.
    - rewrite app_length. cbn [length].
      pose proof (Z.pow_le_mono_r 2 (Z.of_nat (length C)) (Z.of_nat (length C + 1))).
      unfold below in Q. lia.
    - now rewrite combine_app. }
  assert (L1 : length (C ++ [w']) = S (length C)) by (rewrite app_length; cbn; lia).
  assert (R := reduce_spec b (C ++ [w']) basis w' (2^Z.of_nat (length C)) Hb K W).
  assert (M : below (2^Z.of_nat (length (C ++ [w']))) (2^Z.of_nat (length C))).
  { rewrite L1, Nat2Z.inj_succ, Z.pow_succ_r by lia. unfold below. lia. }
  specialize (R (or_introl M) (Z.of_nat (length (C ++ [w']))) ltac:(lia) ltac:(apply M)).
  rewrite E in R. destruct R as [Y [Q F]]. rewrite combine_last, Z.lxor_nilpotent in F.
  apply Z.lxor_eq in F.
  repeat split.
  - apply Forall_app. split; [exact HC | constructor; [exact W | constructor]].
  - apply Forall_app. split; [exact K|]. constructor; [|constructor].
    repeat split; try apply Y; try apply Q; [|now symmetry].
    unfold below in Y. lia.
  - apply separated_app; [exact Sep|].
    pose proof (reduce_clears b C basis w' (2^Z.of_nat (length C)) HB Sep) as Z0.
    rewrite E in Z0. exact Z0.
  - rewrite !app_length. cbn. lia.
Qed.

Lemma draw_columns_drawn b words : 0 <= b -> forall C basis, drawn b C basis ->
  let '(columns, basis', _) := draw_columns b (Z.of_nat (length C)) words basis in
  drawn b (C ++ columns) basis'.
Proof.
  intros Hb. induction words as [|w words IH]; intros C basis D; cbn [draw_columns].
  - now rewrite app_nil_r.
  - destruct (Z.of_nat (length C) =? b); [now rewrite app_nil_r|].
    destruct (reduce basis (w mod 2^b) (2^Z.of_nat (length C))) as [y m] eqn:E.
    destruct (Z.eqb_spec y 0) as [-> | N]; [now apply IH|].
    pose proof (drawn_more b C basis w y m Hb D E N) as D'.
    specialize (IH _ _ D'). rewrite app_length in IH. cbn [length] in IH.
    replace (Z.of_nat (length C + 1)) with (Z.of_nat (length C) + 1) in IH by lia.
    destruct (draw_columns b (Z.of_nat (length C) + 1) words (basis ++ [(y, m)]))
      as [[columns basis'] rest].
    now rewrite <- app_assoc in IH.
Qed.

(** With as many columns as bits, every bit is the highest of some reduced word. *)
Lemma drawn_complete b C basis y m : 0 <= b -> drawn b C basis -> Z.of_nat (length C) = b ->
  below (2^b) (fst (reduce basis y m)) -> fst (reduce basis y m) = 0.
Proof.
  intros Hb [_ [HB [S L]]] E Hy.
  pose proof (reduce_clears b C basis y m HB S) as Z0.
  set (r := fst (reduce basis y m)) in *. clearbody r.
  assert (N : NoDup (map (fun e : Z * Z => Z.log2 (fst e)) basis)).
  { clear - HB S. induction HB as [|[v q] basis _ HB IH]; cbn; [constructor|].
    destruct S as [S1 S2]. constructor; [|now apply IH].
    rewrite in_map_iff. intros [[w p] [F I]]. cbn in F.
    rewrite Forall_forall in S1, HB. pose proof (S1 _ I) as T. cbn in T.
    destruct (HB _ I) as [W0 _]. rewrite <- F, Z.bit_log2 in T by lia. discriminate. }
  assert (I : incl (map (fun e : Z * Z => Z.log2 (fst e)) basis) (range b)).
  { intros p Hp. apply in_map_iff in Hp. destruct Hp as [[v q] [<- Hv]]. cbn.
    rewrite Forall_forall in HB. destruct (HB _ Hv) as [V0 [V1 _]].
    apply in_range. split; [apply Z.log2_nonneg|]. apply Z.log2_lt_pow2; [lia|]. apply V1. }
  assert (J : incl (range b) (map (fun e : Z * Z => Z.log2 (fst e)) basis)).
  { apply NoDup_length_incl; auto. rewrite map_length, range_length. lia. }
  apply Z.bits_inj'. intros i Hi. rewrite Z.bits_0. destruct (Z.lt_ge_cases i b) as [A | A].
  - assert (B : In i (range b)) by (apply in_range; unfold below; lia).
    apply J, in_map_iff in B. destruct B as [[v q] [F G]]. cbn in F. subst i.
    rewrite Forall_forall in Z0. exact (Z0 _ G).
  - rewrite <- (Z.mod_small r (2^b)) by exact Hy. apply Z.mod_pow2_bits_high. lia.
Qed.

(** Whatever the words are, what is drawn is invertible, and the inverse is right, if the words
    suffice for all columns. *)
Theorem affine_drawn_bijection b words : 0 <= b ->
  Z.of_nat (length (fst (fst (draw_columns b 0 words [])))) = b ->
  bijection (below (2^b)) (affine_drawn b words).
Proof.
  intros Hb E. unfold affine_drawn.
  assert (D0 : drawn b [] []) by (repeat split; constructor).
  pose proof (draw_columns_drawn b words Hb [] [] D0) as D. cbn [length app] in D.
  change (Z.of_nat 0) with 0 in D.
  destruct (draw_columns b 0 words []) as [[columns basis] unused]. cbn [fst] in E.
  assert (R : forall i, below b i ->
    below (2^b) (snd (reduce basis (2^i) 0)) /\ combine columns (snd (reduce basis (2^i) 0)) = 2^i).
  { intros i Hi. destruct D as [HC [HB [S L]]] eqn:DD.
    assert (P : below (2^b) (2^i)).
    { unfold below in *. pose proof (pow2_pos i). split; [lia|]. apply Z.pow_lt_mono_r; lia. }
    pose proof (pow2_pos (Z.of_nat (length columns)) ltac:(lia)) as Q.
    pose proof (reduce_spec b columns basis (2^i) 0 Hb HB P
      ltac:(left; unfold below; lia) b ltac:(lia) (pow2_pos b Hb)) as T.
    pose proof (drawn_complete b columns basis (2^i) 0 Hb D E) as Z0.
    destruct (reduce basis (2^i) 0) as [y m]. cbn [fst snd] in *.
    destruct T as [Y [M F]]. rewrite (Z0 Y), combine_zero, Z.lxor_0_l, Z.lxor_0_r in F.
    split; [exact M | exact F]. }
  destruct D as [HC _]. apply affine_bits_bijection; auto.
  - unfold inverse_columns. apply Forall_map, Forall_forall. intros i Hi. apply R.
    now apply in_range.
  - now apply mod_below.
  - unfold inverse_columns. rewrite map_map. apply map_ext_in. intros i Hi. apply R.
    now apply in_range.
Qed.
