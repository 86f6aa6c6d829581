// Package store keeps the runs of a rig. Folders are the truth, and an index beside them finds them
// fast.
//
// Package session makes the run folders. The daemon and its API list, show and share them. The
// store knows the contents of a run folder, not how one is made.
//
// # A data directory
//
//	runs/           folders of runs and sets; an ID is a path below it, with "~" for "/".
//	                A verdict.json has the verdict of its runs against a baseline;
//	trash/          deleted folders; emptied when the store is opened;
//	uploads/        uploads in progress; emptied when the store is opened;
//	index.sqlite    the index;
//	trend.db        the index of package trend, with its journal trend.jsonl;
//	baselines.json  names of runs and sets to compare with;
//	reserve         space for the index to forget a run that is deleted on a full disk;
//	store.lock      held by the one program that has the store open.
//
// # Truth
//
// All data of the index is also in the folders. The index is made again when it is missing, damaged
// or of another version, even while the store is used. Get reads a folder again if the times or
// sizes of its files differ. An unreadable folder is a run too, with the state unreadable and the
// reason. Retain leaves it alone.
//
// # Atomic steps
//
// A change of folders is one rename or one new file. A run is deleted by moving it to the trash. It
// is received by moving it in after all checks. Before the step, the folder's name is added to the
// index's table of pending changes. The index's own change removes it. So after a crash only those
// folders are read again.
//
// # Note: how Open knows that the index is current
//
// Reading every folder would take time in proportion to the runs. Folders that the store changes
// are pending meanwhile, so the effects of a crash are known. Changes of others below runs/ change
// that folder's time. If that time differs from the last comparison of names, the names are
// compared. A time younger than two seconds is not trusted, since a file system's clock has steps.
// Changes of others inside folders are found by Reconcile, which reads all, and by Get.
//
// Rejected: a watch on the folders (inotify). It sees nothing while the store is closed and needs
// one watch per folder. Also rejected: the times of all set folders, one disk access for each.
//
// # Note: order
//
// Runs are ordered by their start on the wall clock. Runs of one millisecond have an arbitrary,
// stable order. That makes one number. It is the key of the index's tables, the cursor of a page
// and the order of words. So a page needs no sorting. A clock that was set back mixes the runs of
// both times, and loses none.
//
// # Ownership
//
// A Store starts no goroutine. Changes wait for each other. Readers do not wait, except while a
// damaged index is made again.
package store
