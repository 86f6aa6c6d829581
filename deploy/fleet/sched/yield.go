package sched

// fill is the class whose sets yield. It is the last of classes.
const fill = 3

// fills reports if a job is of class fill.
func (e *entry) fills() bool { return e.queue.class == fill }

// open reports if a device can be given to a job of a class. A device with a set of class fill is
// open for one job of another class: its rig runs that between two blocks of the set.
func (d *device) open(class int) bool {
	if !d.usable() || d.job == nil {
		return d.usable()
	}
	return d.rig.Yields && d.job.fills() && class != fill && d.Reason == ""
}
