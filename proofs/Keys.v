(** Chapters 2 and 3: Philox4x32-10, and the words that a seed, an epoch and a domain determine.

    There is nothing to prove about them: every theorem holds for all words. They are here so that
    the maps of the other files can be run from seeds, and compared with what the library gives. *)

From Proofs Require Export Words.

Definition philox_round '((x0, x1, x2, x3), (k0, k1)) :=
  let a := 0xd2511f53 * x0 in
  let b := 0xcd9e8d57 * x2 in
  ((high b ^^ x1 ^^ k0, low b, high a ^^ x3 ^^ k1, low a),
   (low (k0 + 0x9e3779b9), low (k1 + 0xbb67ae85))).

Definition philox key counter := fst (Nat.iter 10 philox_round (counter, key)).

(** One or four words of 64 bits, and an epoch. *)
Record seed := Seed { words_of : list Z; epoch : Z }.

Definition block s domain j :=
  fold_left (fun x word => philox (low word, high word) x) (words_of s)
    (j, domain, low (epoch s), high (epoch s)).

(** The first words of a key stream, four for each of [blocks] blocks. *)
Definition stream s domain blocks :=
  flat_map (fun j => let '(x0, x1, x2, x3) := block s domain j in [x0; x1; x2; x3])
    (range blocks).

(** Words of 64 bits. *)
Fixpoint wide words :=
  match words with
  | a :: b :: rest => join a b :: wide rest
  | _ => []
  end.

Definition domain_width (b : Z) := b.
Definition domain_exact n := Z.lor 0x80000000 ((n ^^ (n >> 31) ^^ (n >> 62)) mod 2^31).
Definition domain_blocks := 0x40000000.

Definition child s domain := Seed (firstn (length (words_of s)) (wide (stream s domain 2))) 0.

Definition at_epoch s e := Seed (words_of s) e.
