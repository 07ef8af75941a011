//! Prints the cost of a request on every model with a price. Run: `cargo run -p llm-catalog --example catalog`

use llm_catalog::Catalog;
use session_model::Usage;

fn main() {
    let usage = Usage {
        input: 20_000,
        output: 2_000,
        cache_read: 80_000,
        ..Usage::default()
    };
    let catalog = Catalog::embedded();
    let mut prices: Vec<(f64, String)> = catalog
        .models()
        .filter_map(|model| Some((model.cost(&usage)?, model.full_name())))
        .collect();
    prices.sort_by(|one, other| one.0.total_cmp(&other.0));
    println!("100,000 tokens in, 80,000 of them cached, 2,000 out:");
    for (price, name) in prices {
        println!("  ${price:.4}  {name}");
    }
}
