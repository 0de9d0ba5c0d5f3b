(** The family [GridFeistel] of chapter 5: rows and columns change by turns. *)

From Proofs Require Export Feistel.

Definition make_odd x := Z.lor x 1.

Definition grid_hash w p q t x :=
  let y := (make_odd p * x + q) mod 2^w in
  let y := y ^^ (y >> (w / 2)) in
  (make_odd t * y) mod 2^w.

(** Half-round [r] with four words as key, on [rows] rows and [2^j] columns. *)
Definition grid_half_round rows j w r '(p, q, t, u) :=
  let h := grid_hash w p q t in
  if r mod 2 =? 0
  then
    let move column := h column * rows / 2^w in
    Maps (fun '(row, column) => ((row - move column) mod rows, column))
         (fun '(row, column) => ((row + move column) mod rows, column))
  else
    let u := make_odd u in
    let add row := h row / 2^(w - j) in
    Maps (fun '(row, column) => (row, (column * u + add row) mod 2^j))
         (fun '(row, column) => (row, ((column - add row) * odd_inverse u j) mod 2^j)).

Fixpoint grid_half_rounds rows j w r key :=
  match key with
  | [] => identity
  | k :: rest => compose (grid_half_round rows j w r k) (grid_half_rounds rows j w (r + 1) rest)
  end.

Definition grid rows j w key :=
  renamed (fun x => (x / 2^j, x mod 2^j)) (fun '(row, column) => row * 2^j + column)
    (grid_half_rounds rows j w 0 key).

(** The columns, rows and widths that a length gives. *)
Definition grid_bits length := Z.max 2 (bits length).
Definition grid_j length := half (grid_bits length).
Definition grid_rows length := Z.max ((length - 1) / 2^grid_j length + 1) 2.
Definition grid_w length := if grid_bits length <? 32 then 16 else 32.

Lemma make_odd_odd x : odd (make_odd x).
Proof.
  unfold odd, make_odd. rewrite <- (Z.bit0_mod (Z.lor x 1)), Z.lor_spec, Z.bit0_odd.
  now rewrite Bool.orb_true_r.
Qed.

Definition cell rows j '(row, column) := below rows row /\ below (2^j) column.

Lemma grid_half_round_bijection rows j w r k : 0 < rows -> 0 <= j <= 64 ->
  bijection (cell rows j) (grid_half_round rows j w r k).
Proof.
  intros Hr Hj. destruct k as [[[p q] t] u]. unfold grid_half_round.
  destruct (r mod 2 =? 0); intros [row column] [R C]; cbn [forward inverse cell].
  - generalize (grid_hash w p q t column * rows / 2^w). intros d.
    repeat split; try apply Z.mod_pos_bound; try assumption; try apply C; f_equal.
    + rewrite Z.add_mod_idemp_l by lia. replace (row - d + d) with row by ring.
      now apply Z.mod_small.
    + rewrite Zminus_mod_idemp_l. replace (row + d - d) with row by ring. now apply Z.mod_small.
  - generalize (grid_hash w p q t row / 2^(w - j)). intros d.
    destruct (affine_bijection j (make_odd u) d Hj (make_odd_odd u) column C)
      as [[A1 A2] [A3 A4]].
    cbn [affine forward inverse] in *. rewrite (Z.mul_comm column).
    rewrite A2, (Z.mul_comm _ (make_odd u)), A4. auto.
Qed.

Theorem grid_bijection rows j w key : 0 < rows -> 0 <= j <= 64 ->
  bijection (below (rows * 2^j)) (grid rows j w key).
Proof.
  intros Hr Hj. pose proof (pow2_pos j).
  apply (renamed_bijection _ (cell rows j)).
  - intros x [X0 X1]. unfold cell. repeat split.
    + now apply Z.div_pos; [|lia].
    + apply Z.div_lt_upper_bound; lia.
    + apply Z.mod_pos_bound. lia.
    + apply Z.mod_pos_bound. lia.
    + pose proof (Z.div_mod x (2^j)). lia.
  - intros [row column] [R C]. unfold below in *. split; [nia|].
    rewrite Z.div_add_l, (Z.div_small column), Z.add_0_r by lia.
    rewrite Z.add_comm, Z.mod_add, Z.mod_small by lia. reflexivity.
  - generalize 0. induction key as [|k rest IH]; intros r; cbn [grid_half_rounds].
    + apply identity_bijection.
    + apply compose_bijection; [now apply grid_half_round_bijection | apply IH].
Qed.

(** For every length, and whatever the words of its key are; the domain has room for the length. *)
Theorem grid_family_bijection length key : length <= 2^64 ->
  let points := grid_rows length * 2^grid_j length in
  bijection (below points) (grid (grid_rows length) (grid_j length) (grid_w length) key) /\
  length <= points.
Proof.
  intros H points. pose proof (bits_le64 _ H). pose proof (bits_nonneg length).
  assert (J : 0 <= grid_j length <= 64).
  { unfold grid_j, grid_bits. pose proof (half_bounds (Z.max 2 (bits length))). lia. }
  assert (R : 0 < grid_rows length) by (unfold grid_rows; lia).
  split; [now apply grid_bijection|].
  pose proof (pow2_pos (grid_j length)) as P. subst points. unfold grid_rows.
  pose proof (Z.div_mod (length - 1) (2^grid_j length)).
  pose proof (Z.mod_pos_bound (length - 1) (2^grid_j length)). nia.
Qed.
