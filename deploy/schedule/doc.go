// Package schedule queues runs of new builds and at times, and turns their results into alerts.
//
//  1. A new build of a feed, or a time, becomes a job for each test and device. Jobs have IDs that
//     follow from their content, so that a repeated submit makes no second job.
//  2. A job that ended becomes points of series, or a gap with the reason.
//  3. Each new point is searched for a change. A change that the control shares is one of the lab.
//  4. A candidate is confirmed by fresh runs of both builds in random blocks. Confirmed changes
//     with overlapping builds are one alert.
//  5. A bisection takes steps of package bisect as jobs, until it names a build or gives a reason.
//
// An [Engine] does this in one goroutine. Its cursors and jobs are in schedule.json and the folder
// bisects. It writes them before it submits, and forgets a job after its points are kept. A step
// that was interrupted is done again, with the same outcome.
package schedule
