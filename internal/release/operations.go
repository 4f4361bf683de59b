// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// operationInterval is the requeue interval of a release that an Operation locks, if no event comes
// earlier.
const operationInterval = 30 * time.Second

// lockedByOperation returns a Wait while an active Operation holds the lock, and nil otherwise.
func lockedByOperation(in Input) *Decision {
	if in.Observed.LockHolder == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationRunning},
		Why:    fmt.Sprintf("Operation %s has locked the release: Helm actions wait until it ends", in.Observed.LockHolder.Name),
	}
}

// awaitOperation applies while an Operation waits for the lock. The Operation runs between two
// actions, so that a release with endless retries does not block it. A pending revision is unlocked
// first, because the Operation waits for that.
func awaitOperation(in Input) *Decision {
	if in.Observed.WaitingOperation == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationWaiting},
		Why:    fmt.Sprintf("Operation %s waits for the release and runs next", in.Observed.WaitingOperation.Name),
	}
}
