//! Tests of the ticks.
