// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

// ErrCancelled is the error of a wait whose context ended.
var ErrCancelled = errors.New("the wait was cancelled")

// condition is the state that a wait waits for.
type condition struct {
	// check returns the readiness of a live object; nil if ask does so with requests of its own.
	// Both may be called concurrently.
	check readiness.Check
	ask   func(info *resource.Info) (*status.Result, error)
	// target is true if the condition is about the object that was written or deleted before,
	// and not about another one of the same name.
	target bool
	// lost, if set, is the result for a target that is gone.
	lost *status.Result
	// interval returns the pause until the next read of an object without watch.
	interval func(waited time.Duration) time.Duration
	// endsWhenOutdated is true if the wait ends when the action is outdated.
	endsWhenOutdated bool
	// diagnosed is true if the cause of a failure is of interest, and role is the role of the
	// objects in the release.
	diagnosed bool
	role      release.Role
	// late, if set, is called once the wait has lasted for lateAfter.
	late func()
}

func poll(check readiness.Check) condition {
	return condition{interval: PollInterval, check: check}
}

// PollInterval returns the pause between two reads of an object: a tenth of the time waited so far,
// and short at first, because most objects are ready soon.
func PollInterval(elapsed time.Duration) time.Duration {
	const shortest, longest = 100 * time.Millisecond, 2 * time.Second
	return min(max(elapsed/10, shortest), longest)
}

// ObjectName returns the kind, the namespace and the name of an object for messages.
func ObjectName(info *resource.Info) string {
	return fmt.Sprintf("%s/%s/%s", info.Mapping.GroupVersionKind.Kind, info.Namespace, info.Name)
}

func describe(info *resource.Info, r *status.Result) string {
	return fmt.Sprintf("%s status: '%s': %s", ObjectName(info), r.Status, strings.TrimSpace(r.Message))
}
