// Package client talks to a rig, over the interface that API.md describes.
//
// A rig that made its own certificate is known by that certificate's fingerprint, see
// [Client.Trust]. Redirects are not followed, so that a token reaches nobody but the rig.
package client
