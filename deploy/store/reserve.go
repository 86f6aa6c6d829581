package store

import (
	"os"
	"path/filepath"
)

// reserveBytes are kept on the disk for the index to forget a run that is deleted because the disk
// is full: that takes room before it gives any.
const reserveBytes = 1 << 20

// keepReserve writes the reserve if it is not there. A disk that has no room for it has none for
// runs, which is told where they are made.
func (s *Store) keepReserve() {
	path := filepath.Join(s.dir, reserveFile)
	if st, err := os.Stat(path); err == nil && st.Size() == reserveBytes {
		return
	}
	if s.room(2*reserveBytes) != nil {
		return
	}
	if err := os.WriteFile(path, make([]byte, reserveBytes), 0o640); err != nil {
		s.Log.Warn("no room is kept for deleting runs on a full disk", "why", err)
		s.spendReserve()
	}
}

func (s *Store) spendReserve() {
	_ = os.Remove(filepath.Join(s.dir, reserveFile)) // the index says whether there is room now
}
