package store

import (
	"fmt"
	"sync"
)

// uses counts who reads files of which run or set.
type uses struct {
	mu    sync.Mutex
	count map[string]int
	waste map[string]string // in the trash, and the ID that it had
}

// Use keeps the files of a run or a set as long as they are read: Retain does not choose it, and if
// it is deleted its files go after release. It does not keep it from being deleted.
func (s *Store) Use(id string) (release func(), err error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	s.uses.add(id)
	var once sync.Once
	release = func() { once.Do(func() { s.release(id) }) }
	if err := s.there(id); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (u *uses) add(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == nil {
		u.count, u.waste = map[string]int{}, map[string]string{}
	}
	u.count[id]++
}

// any says that somebody reads a folder, or something in it, or something that it is in. The caller
// holds mu.
func (u *uses) any(id string) bool {
	for used := range u.count {
		if within(used, id) || within(id, used) {
			return true
		}
	}
	return false
}

func (u *uses) has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.any(id)
}

// later leaves the removal of a deleted run to its last reader. It returns false if it has none.
func (u *uses) later(id, waste string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.any(id) {
		return false
	}
	u.waste[waste] = id
	return true
}

// done removes a reader, and returns the folders that can be removed now.
func (u *uses) done(id string) (waste []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count[id]--; u.count[id] == 0 {
		delete(u.count, id)
	}
	for name, had := range u.waste {
		if !u.any(had) {
			waste = append(waste, name)
			delete(u.waste, name)
		}
	}
	return waste
}

func (s *Store) release(id string) {
	for _, waste := range s.uses.done(id) {
		if err := s.root.RemoveAll(waste); err != nil {
			s.Log.Warn(fmt.Sprintf("deleted runs stay in the trash until the store is opened again: %v", err))
		}
	}
}
