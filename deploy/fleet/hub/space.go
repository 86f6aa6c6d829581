package hub

import (
	"maps"
	"slices"
	"time"
)

// space is the part of a disk that named things take. Above its limit those that were used longest
// ago are deleted.
type space struct {
	max, bytes int64
	all        map[string]*kept
}

// kept is the size of a thing, and when it was used.
type kept struct {
	bytes int64
	used  time.Time
}

func newSpace(most int64) space { return space{max: most, all: map[string]*kept{}} }

func (s *space) add(name string, bytes int64, used time.Time) {
	s.drop(name)
	s.all[name] = &kept{bytes, used}
	s.bytes += bytes
}

func (s *space) drop(name string) {
	if k := s.all[name]; k != nil {
		s.bytes -= k.bytes
		delete(s.all, name)
	}
}

// byAge returns all names. That of the thing used longest ago is the first.
func (s *space) byAge() []string {
	return slices.SortedFunc(maps.Keys(s.all), func(a, b string) int { return s.all[a].used.Compare(s.all[b].used) })
}

// oldest returns the thing that was used longest ago, but not the given one; "": there is none.
func (s *space) oldest(but string) (name string) {
	for k, v := range s.all {
		if k != but && (name == "" || v.used.Before(s.all[name].used)) {
			name = k
		}
	}
	return name
}
