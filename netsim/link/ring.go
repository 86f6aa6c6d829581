package link

// ring is a queue that keeps its memory.
type ring[T any] struct {
	all         []T
	first, held int
}

func (r *ring[T]) len() int { return r.held }

// at returns the i-th from the front.
func (r *ring[T]) at(i int) *T { return &r.all[(r.first+i)%len(r.all)] }

func (r *ring[T]) pop() T {
	v := r.all[r.first]
	r.first = (r.first + 1) % len(r.all)
	r.held--
	return v
}

// push appends.
func (r *ring[T]) push(v T) {
	if r.held == len(r.all) {
		more := make([]T, max(64, 2*len(r.all)))
		for i := range r.held {
			more[i] = *r.at(i)
		}
		r.all, r.first = more, 0
	}
	r.held++
	*r.at(r.held - 1) = v
}
