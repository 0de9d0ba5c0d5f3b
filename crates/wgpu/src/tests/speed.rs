//! Figures, on request.
