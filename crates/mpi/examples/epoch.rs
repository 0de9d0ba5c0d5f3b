//! An epoch of training on a dataset that is spread over the ranks: the samples are shuffled, a
//! model is trained on them, and its predictions are put in the order of the dataset.
//!
//! ```console
//! cargo build --release --example epoch && mpirun -n 4 --oversubscribe target/release/examples/epoch
//! ```

use bijective_shuffle::{Permutation, Seed};
use bijective_shuffle_mpi::Spread;
use bijective_shuffle_mpi::mpi;
use mpi::collective::SystemOperation;
use mpi::traits::*;

/// The features of a sample. The model should find out that their sum, with these weights, is the
/// label.
const WEIGHTS: [f32; 4] = [0.5, -1.0, 2.0, 0.25];

/// The sample of a number.
fn sample(number: u64) -> [f32; 4] {
    [7, 11, 13, 17].map(|modulus| (number % modulus) as f32 / modulus as f32 - 0.5)
}

fn dot(a: [f32; 4], b: [f32; 4]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Other threads compute, but only this one calls MPI.
    let (universe, _) =
        mpi::initialize_with_threading(mpi::Threading::Funneled).ok_or("MPI does not start")?;
    let world = universe.world();
    let (rank, ranks) = (world.rank() as u64, world.size() as u64);

    // Every rank has read some of the samples; not all equally many.
    let here = 10_000 + 1000 * (rank % 3);
    let mut spread = Spread::new(&world, here as usize)?;
    let first = spread.before().places(spread.rank()).start;
    let mut samples: Vec<[f32; 4]> = (first..first + here).map(sample).collect();
    let mut labels: Vec<f32> = samples.iter().map(|&sample| dot(sample, WEIGHTS)).collect();
    let unshuffled = labels.clone();

    // The order depends on the seed and the epoch, and not on the number of ranks.
    let p = Permutation::new(spread.len(), Seed::new(42).with_epoch(0));
    let mut plan = spread.plan(&p)?;
    plan.shuffle_together((&mut samples, &mut labels))?;

    // One step of all ranks for each batch, with the mean of their gradients.
    let mut weights = [0.0; 4];
    for (samples, labels) in samples.chunks(50).zip(labels.chunks(50)).take(200) {
        let mut gradient = [0.0; 4];
        for (&sample, &label) in samples.iter().zip(labels) {
            let error = dot(sample, weights) - label;
            gradient = std::array::from_fn(|k| gradient[k] + error * sample[k] / 50.0);
        }
        let mut sum = [0.0_f32; 4];
        world.all_reduce_into(&gradient, &mut sum, SystemOperation::sum());
        weights = std::array::from_fn(|k| weights[k] - 1.5 * sum[k] / ranks as f32);
    }

    // The predictions go back to where the samples came from.
    let mut predictions: Vec<f32> = samples.iter().map(|&sample| dot(sample, weights)).collect();
    plan.unshuffle(&mut predictions)?;
    let wrong = predictions.iter().zip(&unshuffled).map(|(a, b)| (a - b).abs());
    let wrong = wrong.fold(0.0, f32::max);
    assert!(wrong < 0.01, "rank {rank}: a prediction is wrong by {wrong}");

    let mut worst = 0.0_f32;
    world.all_reduce_into(&wrong, &mut worst, SystemOperation::max());
    if rank == 0 {
        println!(
            "{} samples on {ranks} ranks: each prediction is back beside its label, and at most \
             {worst:.5} from it",
            p.len()
        );
    }
    Ok(())
}
