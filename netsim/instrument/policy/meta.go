package policy

// metaPolicy compares loads with and without insertions. All pages record its figures: the time of
// the load event, and long tasks.
func metaPolicy() Policy {
	return Policy{About: About{"meta", "Whether insertions harm the page; it is always active in sets of runs."}}
}
