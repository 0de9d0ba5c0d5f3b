//! Shapley values by sampling: who is to pay how much of a cost that all share?
//!
//! ```console
//! cargo run --release --example shapley
//! ```
//!
//! A player's Shapley value is the mean of what it adds to those before it, over all orders in
//! which the players can come. With ten players it can be worked out exactly. With more (the
//! features or the training examples of a model), orders are sampled (Castro, Gomez and Tejada,
//! 2009); here as rows of `Permutations`, so that any machine can redo any of them. Each order
//! backwards, too, is an order for nothing, and brings errors of opposite sign (antithetic
//! sampling; Mitchell, Cooper, Frank and Holmes, *Sampling permutations for Shapley value
//! estimation*, JMLR 2022).

use bijective_shuffle::Error;
use bijective_shuffle::prelude::*;

/// What a runway has to cost for each airline's largest plane. It is built for the largest of those
/// who use it: the airport game (Littlechild and Owen, 1973).
const COSTS: [f64; PLAYERS] = [1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 8.0, 13.0, 21.0, 34.0];
const PLAYERS: usize = 10;

/// How many orders are gone through, forwards or backwards.
const ORDERS: u64 = 40_000;
const SEED: u64 = 42;

type Values = [f64; PLAYERS];

/// The cost of a coalition, given as a mask of players.
fn cost(coalition: u32) -> f64 {
    (0..PLAYERS).filter(|k| coalition >> k & 1 == 1).map(|k| COSTS[k]).fold(0.0, f64::max)
}

/// The definition, summed over all coalitions.
fn exact() -> Values {
    let factorial = |k: usize| (1..=k).map(|x| x as f64).product::<f64>();
    core::array::from_fn(|player| {
        let without = (0..1_u32 << PLAYERS).filter(|mask| mask >> player & 1 == 0);
        without
            .map(|mask| {
                let before = mask.count_ones() as usize;
                let orders = factorial(before) * factorial(PLAYERS - 1 - before);
                orders / factorial(PLAYERS) * (cost(mask | 1 << player) - cost(mask))
            })
            .sum()
    })
}

/// What each player adds to those before it.
fn contributions<'a>(order: impl Iterator<Item = &'a u32>) -> Values {
    let mut values = Values::default();
    let mut coalition = 0;
    for &player in order {
        values[player as usize] = cost(coalition | 1 << player) - cost(coalition);
        coalition |= 1 << player;
    }
    values
}

/// The means of samples, and their standard errors.
fn means(samples: &[Values]) -> (Values, Values) {
    let count = samples.len() as f64;
    let mean: Values =
        core::array::from_fn(|k| samples.iter().map(|sample| sample[k]).sum::<f64>() / count);
    let error = core::array::from_fn(|k| {
        let squares: f64 = samples.iter().map(|sample| (sample[k] - mean[k]).powi(2)).sum();
        (squares / (count - 1.0) / count).sqrt()
    });
    (mean, error)
}

fn main() -> Result<(), Error> {
    let exact = exact();
    let orders = |count| Permutations::new(count, PLAYERS as u64, SEED);
    let plain = orders(ORDERS).par_map(|_, order: &[u32]| contributions(order.iter()))?;
    let pairs: Vec<Values> = orders(ORDERS / 2).par_map(|_, order: &[u32]| {
        let (there, back) = (contributions(order.iter()), contributions(order.iter().rev()));
        core::array::from_fn(|k| (there[k] + back[k]) / 2.0)
    })?;
    let (plain, plain_error) = means(&plain);
    let (pairs, pairs_error) = means(&pairs);

    println!("player   cost    exact   {ORDERS} orders     {} orders and back", ORDERS / 2);
    for k in 0..PLAYERS {
        println!(
            "{k:6} {:6.1} {:8.4} {:8.4} +- {:.4} {:8.4} +- {:.4}",
            COSTS[k], exact[k], plain[k], plain_error[k], pairs[k], pairs_error[k]
        );
        assert!((plain[k] - exact[k]).abs() < 4.0 * plain_error[k], "player {k}");
        assert!((pairs[k] - exact[k]).abs() < 4.0 * pairs_error[k], "player {k}, in pairs");
    }
    // They share the cost of the whole runway: in every order, so up to rounding.
    for values in [exact, plain, pairs] {
        assert!((values.iter().sum::<f64>() - cost((1 << PLAYERS) - 1)).abs() < 1e-6);
    }
    let variance = |error: Values| error.iter().map(|error| error * error).sum::<f64>();
    let ratio = variance(plain_error) / variance(pairs_error);
    println!("Going back as well makes the variance {ratio:.2} times as small.");
    assert!(ratio > 1.0);
    Ok(())
}
