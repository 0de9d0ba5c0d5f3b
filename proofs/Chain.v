(** The Markov chain of theorem 1 in docs/proof.md, computed on the narrowest domain in use, of 9
    bits: the distance of the worst pair of slots from a uniform pair, after 10 rounds.

    The numbers follow from the definitions by computation alone, in exact whole numbers. That the
    chain is the law of a pair is proved on that page. Pairs.v has the steps that are proved in
    Coq. *)

From Coq Require Import FMapPositive.
From Proofs Require Import Pairs.

Section Chain.
  Variable b : Z.
  Let n := 2^b.

  (** How often 2 divides a number. *)
  Fixpoint twos p := match p with xO p => 1 + twos p | _ => 0 end.

  (** The class of a difference, as a number: twice the exponent of 2, and 1 more if the odd part is
      3 or 5 modulo 8 and has three bits. *)
  Definition class d :=
    match d with
    | Zpos p =>
      let v := twos p in
      let residue := Z.land (d >> v) 7 in
      2 * v + (if ((2 <? b - v) && ((residue =? 3) || (residue =? 5)))%bool then 1 else 0)
    | _ => -1
    end.

  (** The class of the products by numbers that are 3 or 5 modulo 8. *)
  Definition star c := if 2 <? b - c / 2 then (if Z.odd c then c - 1 else c + 1) else c.

  Definition differences := tl (range n).
  Definition classes := nodup Z.eq_dec (map class differences).
  Definition size c := Z.of_nat (length (filter (fun d => class d =? c) differences)).

  Definition key c d := Z.to_pos (1 + c + 256 * d).
  Definition count_of (m : PositiveMap.t Z) k :=
    match PositiveMap.find k m with Some c => c | None => 0 end.

  (** How many pairs with a difference of one class have one of another after a xorshift. *)
  Definition moves t :=
    let points := map (fun y => (y, y ^^ (y >> t))) (range n) in
    let table := fold_left (fun m '(y, x) => PositiveMap.add (Z.to_pos (y + 1)) x m) points
      (PositiveMap.empty Z) in
    fold_left (fun m e =>
      let c := class e in
      fold_left (fun m '(y, x) =>
        let x' := count_of table (Z.to_pos (Z.land (y + e) (n - 1) + 1)) in
        let k := key c (class (Z.land (x' - x) (n - 1))) in
        PositiveMap.add k (1 + count_of m k) m) points m) differences (PositiveMap.empty Z).

  (** Transition probabilities, as multiples of [2^-(b + 7)]. *)
  Definition transition m c d := count_of m (key c d) * 2^(b + 7) / (n * size c).
  Definition exact m := forallb (fun c => forallb (fun d =>
    transition m c d * (n * size c) =? count_of m (key c d) * 2^(b + 7)) classes) classes.

  Definition matrix m := map (fun c => map (fun d => transition m c (star d)) classes) classes.

  (** A law on classes, a row of a matrix for each class before. *)
  Definition step law rows :=
    fold_left (fun sums '(p, row) => map (fun '(s, q) => s + p * q) (combine sums row))
      (combine law rows) (map (fun _ => 0) classes).

  Fixpoint steps r first second law :=
    match r with O => law | S r => steps r second first (step law first) end.

  (** Numerator of the distance, over [2 (n - 1) 2^((b + 7) (rounds - 1))]. *)
  Definition distance_from rounds first second start :=
    let whole := 2^((b + 7) * (Z.of_nat rounds - 1)) in
    let law := steps (rounds - 1) first second
      (map (fun c => if c =? star start then 1 else 0) classes) in
    fold_left Z.add
      (map (fun '(p, c) => Z.abs (p * (n - 1) - size c * whole)) (combine law classes)) 0.

  Definition worst rounds :=
    let s := half b in
    let one := moves s in let two := moves (s + 1) in
    let first := matrix one in let second := matrix two in
    if (exact one && exact two)%bool
    then fold_left Z.max (map (distance_from rounds first second) classes) 0 else 0.

  Definition whole rounds := 2 * (n - 1) * 2^((b + 7) * (Z.of_nat rounds - 1)).
End Chain.

(** The classes are what lemma 1 takes them for: a number that is 3 or 5 modulo 8 moves a class into
    another one, and from each point it reaches all of that class. *)
Example classes_of_9_bits :
  forallb (fun d => forallb (fun a => class 9 (Z.land (a * d) 511) =? star 9 (class 9 d))
    (filter (fun a => (a mod 8 =? 3) || (a mod 8 =? 5))%bool (range 512))) (differences 9) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Example classes_of_9_bits_reached :
  forallb (fun d =>
    Z.of_nat (length (nodup Z.eq_dec (map (fun a => Z.land (a * d) 511)
      (filter (fun a => (a mod 8 =? 3) || (a mod 8 =? 5))%bool (range 512))))) =?
    size 9 (star 9 (class 9 d))) (differences 9) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(** After 10 rounds the distance is between 2^-22.15 and 2^-22.05; the table has -22.1. *)
Example worst_pair_of_9_bits :
  let d := worst 9 10 in let w := whole 9 10 in
  ((d^20 * 2^441 <? w^20) && (w^20 <? d^20 * 2^443))%bool = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
