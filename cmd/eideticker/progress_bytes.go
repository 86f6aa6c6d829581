package main

// meter begins a phase of moved bytes; less than 1: unknown. The bar counts KiB.
func (e *env) meter(phase string, bytes int64) (moved func(bytes int64), end func()) {
	bar, sum := e.phase(phase, int(bytes>>10)), int64(0)
	return func(bytes int64) {
		before := sum >> 10
		sum += bytes
		if more := int(sum>>10 - before); more > 0 {
			bar.add(more)
		}
	}, bar.end
}
