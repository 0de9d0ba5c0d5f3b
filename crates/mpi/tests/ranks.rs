//! Tests with several processes: this program starts itself under `mpirun`, once for every number
//! of ranks. The launcher's name may be given in `MPIRUN`.

mod ranks {
    pub(crate) mod disagreements;
    pub(crate) mod failures;
    pub(crate) mod launch;
    pub(crate) mod memory;
    pub(crate) mod orders;
    pub(crate) mod shapes;
}

use mpi::topology::{Communicator, SimpleCommunicator};
use ranks::{disagreements, failures, launch, memory, orders};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// A test that all ranks run together.
type Test = fn(&SimpleCommunicator);

const TESTS: [(&str, Test); 23] = [
    ("every family, length and division gives the permutation", orders::every_order),
    ("the inverse of a permutation", orders::inverses),
    ("a permutation that is not random", orders::counters),
    ("items of every size", orders::item_sizes),
    ("several arrays move together", orders::together),
    ("one plan after another", orders::epochs),
    ("messages of few items", orders::in_messages),
    ("rounds of few items", orders::in_rounds),
    ("buckets in several chunks", orders::in_chunks),
    ("more items than MPI counts, if asked", orders::more_than_mpi_counts),
    ("the free functions", orders::free_functions),
    ("a part of the processes, in another order", orders::other_communicators),
    ("ranks that disagree", disagreements::of_arguments),
    ("ranks that trust and that do not", disagreements::of_trust),
    ("ranks that call different functions", disagreements::of_calls),
    ("a rank with a wrong array", failures::wrong_arrays),
    ("a bijection that lies or panics", failures::hostile_bijections),
    ("a bijection that panics late", failures::a_late_panic),
    ("two items of one slot", failures::two_items_of_a_slot),
    ("arrays and permutations of other lengths", failures::other_lengths),
    ("memory keeps to its limit", memory::limits),
    ("a rank without memory", memory::refused),
    // The last one, since it changes the thread.
    ("placing on the calling thread", orders::on_the_calling_thread),
];

fn main() {
    // Test runners list the tests before they run them.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        println!("ranks: test");
        return;
    }
    if arguments.first().is_some_and(|argument| argument == launch::RANK) {
        return run(arguments.get(1).map_or("", String::as_str));
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    // Where there are fewer cores than ranks, each number of them takes a minute.
    let is_long = std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some();
    let numbers = if is_long { &[1, 2, 3, 5, 8][..] } else { &[3] };
    for &ranks in numbers {
        launch::launch(ranks, filter.map_or("", String::as_str));
    }
}

/// Runs the tests whose name contains a text, as one of the ranks.
fn run(filter: &str) {
    let (universe, threading) =
        mpi::initialize_with_threading(mpi::Threading::Funneled).expect("MPI starts once");
    assert!(threading >= mpi::Threading::Funneled);
    let world = universe.world();
    // A rank that panics must not leave the others waiting for it.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !failures::is_expected(panic) {
            report(panic);
            eprintln!("in rank {}", SimpleCommunicator::world().rank());
            SimpleCommunicator::world().abort(1);
        }
    }));
    for (name, test) in TESTS.iter().filter(|(name, _)| name.contains(filter)) {
        if world.rank() == 0 {
            println!("{} ranks: {name}", world.size());
        }
        test(&world);
    }
    failures::outlive(universe);
}
