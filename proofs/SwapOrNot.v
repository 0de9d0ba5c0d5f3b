(** The shuffle of docs/proof.md with a bound for all items, on any number of points. Its words are
    left open: the theorem holds for all round keys and bits. *)

From Proofs Require Export Table.

(** A round on [n] points: [x] and [x ^ k] change places if the pair's coin says so. A point whose
    partner is not in the domain stays. *)
Definition swap_round n (round : Z * (Z -> Z -> bool)) :=
  let '(k, coin) := round in
  let move x :=
    let y := x ^^ k in
    if ((0 <=? y) && (y <? n) && coin (Z.min x y) (Z.max x y))%bool then y else x in
  Maps move move.

(** A level is rounds on the first [n] points; it leaves the others alone. *)
Definition swap_level '(n, rounds) := extended n (chain (map (swap_round n) rounds)).

(** All levels, and a table of the points that are left. *)
Definition swap_or_not levels first :=
  compose (chain (map swap_level levels)) (extended (Z.of_nat (length first)) (table first)).

Theorem swap_round_bijection n round : bijection (below n) (swap_round n round).
Proof.
  destruct round as [k coin]. intros x Hx.
  enough (S : below n (forward (swap_round n (k, coin)) x) /\
    forward (swap_round n (k, coin)) (forward (swap_round n (k, coin)) x) = x) by exact (conj S S).
  cbn [swap_round forward]. cbn zeta.
  assert (T : x ^^ k ^^ k = x) by now rewrite Z.lxor_assoc, Z.lxor_nilpotent, Z.lxor_0_r.
  destruct (Z.leb_spec 0 (x ^^ k)), (Z.ltb_spec (x ^^ k) n);
    destruct (coin (Z.min x (x ^^ k)) (Z.max x (x ^^ k))) eqn:C; cbn [andb];
    rewrite ?T, ?C; cbn [andb]; unfold below in *.
  all: try (rewrite (Z.min_comm (x ^^ k)), (Z.max_comm (x ^^ k)), C;
    destruct (Z.leb_spec 0 x), (Z.ltb_spec x n); cbn [andb]; lia).
  all: destruct (Z.leb_spec 0 (x ^^ k)), (Z.ltb_spec (x ^^ k) n); cbn [andb]; lia.
Qed.

(** For every number of points, all levels, keys and coins, and any order of the first points. *)
Theorem swap_or_not_bijection n levels first :
  Forall (fun '(m, _) => m <= n) levels -> Z.of_nat (length first) <= n ->
  Permutation first (range (Z.of_nat (length first))) ->
  bijection (below n) (swap_or_not levels first).
Proof.
  intros H Hf P. apply compose_bijection.
  - apply chain_bijection, Forall_map.
    apply (Forall_impl _ (P := fun '(m, _) => m <= n)); [|exact H].
    intros [m rounds] Hm. apply extended_bijection; [exact Hm|].
    apply chain_bijection, Forall_map, Forall_forall. intros round _. apply swap_round_bijection.
  - apply extended_bijection; [exact Hf|]. now apply table_bijection.
Qed.
