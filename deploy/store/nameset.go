package store

import (
	"maps"
	"slices"
	"sync"
)

// nameSet is a set of names that several goroutines use.
type nameSet struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (n *nameSet) add(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]struct{}{}
	}
	n.names[name] = struct{}{}
}

func (n *nameSet) remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.names, name)
}

func (n *nameSet) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, ok := n.names[name]
	return ok
}

func (n *nameSet) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.names))
}
