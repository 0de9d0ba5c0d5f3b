//! Writes designs, statistics and exact p-values for `crates/resample/oracles/designs.R`, which
//! compares them with those of R's packages.
//!
//! ```console
//! cargo run -p bijective-shuffle-resample --example oracle | Rscript crates/resample/oracles/designs.R
//! ```

use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_resample::{
    Alternative, Anosim, Design, Error, Mantel, Permanova, PermutationTest, Statistic, TwoSamples,
};

/// Numbers with a space between them.
fn text(numbers: impl IntoIterator<Item = impl ToString>) -> String {
    numbers.into_iter().map(|number| number.to_string()).collect::<Vec<_>>().join(" ")
}

fn print_design(kind: &str, arguments: &[u64], design: &Design) -> Result<(), Error> {
    let count = design.count();
    let set = match design.count_u64() {
        Some(count) if count <= 1000 => {
            let all: Vec<_> = design.all()?.map(|a| text(a.order())).collect();
            all.join(";")
        }
        _ => String::new(),
    };
    println!("design\t{kind}\t{}\t{}\t{count}\t{set}", text(arguments), design.len());
    Ok(())
}

fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut words = Seed::new(seed).key_stream(KeyDomain::Exact(9));
    (0..len).map(|_| (words.next_u64() % 100_000) as f64 / 1000.0).collect()
}

fn distances(rows: usize, seed: u64) -> Vec<f64> {
    let points = noise(2 * rows, seed);
    let distance = |a: &[f64], b: &[f64]| f64::hypot(a[0] - b[0], a[1] - b[1]);
    points.chunks(2).flat_map(|a| points.chunks(2).map(move |b| distance(a, b))).collect()
}

fn main() -> Result<(), Error> {
    for n in 2..10 {
        print_design("free", &[n], &Design::free(n)?)?;
        for mirror in [0, 1] {
            print_design("series", &[n, mirror], &Design::series(n, mirror == 1)?)?;
        }
    }
    for (rows, columns) in [(2, 3), (3, 3), (3, 4), (4, 5), (2, 2)] {
        for mirror in [0, 1] {
            let design = Design::grid(rows, columns, mirror == 1)?;
            print_design("grid", &[rows, columns, mirror], &design)?;
        }
    }
    for sizes in [&[2, 3, 1][..], &[4, 3], &[1, 1, 2], &[5, 5, 5, 5]] {
        let blocks: Result<Vec<_>, _> = sizes.iter().map(|&size| Design::free(size)).collect();
        print_design("blocks", sizes, &Design::blocks(blocks?)?)?;
    }
    for (plots, size) in [(2, 3), (3, 2), (4, 2), (3, 3), (5, 4)] {
        let between = || Design::free(plots);
        let stay = || Design::fixed(plots);
        let rows = || Design::free(size);
        let plain = [plots, size];
        print_design("plots_fixed", &plain, &Design::plots(between()?, Design::fixed(size)?)?)?;
        print_design("plots_free", &plain, &Design::plots(between()?, rows()?)?)?;
        print_design("within_alike", &plain, &Design::plots_alike(stay()?, rows()?)?)?;
        for mirror in [0, 1] {
            let series = |len| Design::series(len, mirror == 1);
            let all = [plots, size, mirror];
            print_design("within_series", &all, &Design::plots(stay()?, series(size)?)?)?;
            let moved = Design::plots(series(plots)?, Design::fixed(size)?)?;
            print_design("plots_series", &all, &moved)?;
        }
    }
    for (seed, first, len) in [(1, 4, 10), (2, 7, 15), (3, 3, 18), (4, 9, 18)] {
        let values = noise(len, seed);
        let statistic = TwoSamples::difference_of_means(&values, first)?;
        let design = Design::groups(&[first as u64, (len - first) as u64])?;
        for (name, alternative) in [
            ("greater", Alternative::Greater),
            ("less", Alternative::Less),
            ("two.sided", Alternative::Absolute),
        ] {
            let test = PermutationTest::new(&design, &statistic).permutations(1 << 20);
            let p = test.alternative(alternative).run()?;
            assert!(p.is_exact());
            println!("t\t{first}\t{}\t{name}\t{}", text(&values), p.p_value());
        }
    }
    let observed = |statistic: &dyn Statistic| {
        let design = Design::fixed(statistic.rows())?;
        Ok::<f64, Error>(PermutationTest::new(&design, statistic).run()?.observed())
    };
    for (seed, sizes) in [(1, vec![10, 15]), (2, vec![3, 4, 5, 6]), (3, vec![20, 1, 9])] {
        let rows: u64 = sizes.iter().sum();
        let d = distances(rows as usize, seed);
        let e = distances(rows as usize, seed + 10);
        let value = observed(&Permanova::new(&d, &sizes)?)?;
        println!("adonis\t{rows}\t{}\t{}\t{value}", text(&sizes), text(&d));
        let value = observed(&Anosim::new(&d, &sizes)?)?;
        println!("anosim\t{rows}\t{}\t{}\t{value}", text(&sizes), text(&d));
        let value = observed(&Mantel::new(&d, &e)?)?;
        println!("mantel\t{rows}\t{}\t{}\t{value}", text(&e), text(&d));
    }
    Ok(())
}
