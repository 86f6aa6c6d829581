package main

// moved shows the progress of moved bytes.
type moved struct {
	bar   *progress
	bytes int64
}

// bytesPhase starts moving bytes; less than 1: unknown.
func (e *env) bytesPhase(what string, bytes int64) *moved {
	return &moved{bar: e.phase(what, int(bytes>>10))}
}

// add adds moved bytes. The bar counts KiB.
func (m *moved) add(bytes int64) {
	before := m.bytes >> 10
	m.bytes += bytes
	if more := int(m.bytes>>10 - before); more > 0 {
		m.bar.add(more)
	}
}

// Write counts written bytes.
func (m *moved) Write(b []byte) (int, error) {
	m.add(int64(len(b)))
	return len(b), nil
}

func (m *moved) end() { m.bar.end() }
