package store

import (
	"os"
	"path/filepath"
)

// reserveBytes are reserved on the disk for deleting a run when the disk is full. The index needs
// space for that before it frees any.
const reserveBytes = 1 << 20

// keepReserve writes the reserve if it is missing. A disk without space for it has none for runs,
// which is reported when they are made.
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
