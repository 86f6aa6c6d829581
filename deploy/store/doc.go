// Package store keeps the runs of a rig: folders are the truth, and an index beside them finds them
// quickly.
//
// Place in the flow: between package session, which makes run folders, and whoever lists, shows and
// shares them: a daemon and its API. It knows what a run folder holds, and nothing of how one is
// made.
//
// # A data directory
//
//	runs/           folders of runs and of sets of runs; an ID is a path below it, with "~" for "/"
//	                verdict.json in one of them says what its runs came to against a baseline
//	trash/          what is being deleted; emptied when the store is opened
//	uploads/        what is being received; emptied when the store is opened
//	index.sqlite    the index
//	baselines.json  names of runs and sets to compare with
//	reserve         room for the index to forget a run that is deleted on a full disk
//	store.lock      held by the one program that has the store open
//
// # What is true
//
// The index says nothing that is not in a folder, and is made anew when it is missing, damaged, or
// of another version, also while the store is used. What it takes from a folder it takes again when
// the folder is asked for (Get) and its files have other times or sizes. A folder that cannot be
// understood is a run too, unreadable with the reason; Retain leaves it alone.
//
// # Steps that cannot be half done
//
// What changes folders does so by one rename or by one file that appears: a run is deleted by being
// moved to the trash, and received by being moved in when all of it was checked. Before the step
// the folder's name goes into the index's table of what is pending, and with the index's own change
// it leaves it. So after a crash only those folders are read again.
//
// # Note: how Open knows that the index is current
//
// Looking at every folder would take as long as there are runs. Folders that the store changes are
// pending meanwhile, so what a crash leaves is known. What others do below runs/ changes that
// folder's time: where it is not the one at which its names were last compared, the names alone are
// compared. A time that is younger than two seconds when they are is not trusted, since a file
// system's clock goes in steps. What others do inside of folders is found by Reconcile, which looks
// at all, and by Get.
//
// Rejected: a watch on the folders (inotify), which sees nothing while the store is closed and has
// one watch per folder; and the times of all set folders, one look at the disk for each.
//
// # Note: order
//
// Runs are ordered by when they started, by the wall clock, and what started in one millisecond in
// any order that stays. That makes one number, the key of the index's tables, the cursor of a page
// and the order of the index of words, so that a page needs no sorting. A clock that was set back
// mixes the runs of both times, and loses none.
//
// # Ownership
//
// A Store starts no goroutine. Changes wait for each other; readers wait for nobody, but while a
// damaged index is made anew.
package store
