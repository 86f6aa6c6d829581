package sched

import "slices"

// turns shares one device by start-time fair queueing. Each key (a class, or an owner in a class) has
// a turn, which moves on by its use. The least turn comes next. An idle key saves up no turns.
type turns struct {
	now  int64 // turn of the latest that was served
	last []turn
}

// turn is the next one of a key. Keys without one have the turn now.
type turn struct {
	key int32
	at  int64
}

func (t *turns) start(key int32) int64 {
	for _, l := range t.last {
		if l.key == key {
			return max(l.at, t.now)
		}
	}
	return t.now
}

// charge tells that a key was served.
func (t *turns) charge(key int32, use int64) {
	t.now = t.start(key)
	t.correct(key, use)
}

// correct moves a key's turn, since it used more or less than was charged. Turns that are over are
// forgotten, so that the list has those only that were served lately.
func (t *turns) correct(key int32, use int64) {
	at := t.start(key) + use
	t.last = slices.DeleteFunc(t.last, func(l turn) bool { return l.key == key || l.at <= t.now })
	if at > t.now {
		t.last = append(t.last, turn{key, at})
	}
}
