struct bs_Record { key: u32, item: bs_Unit }
