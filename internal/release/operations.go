// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// operationLook is how often a release that an Operation keeps busy is looked at,
// if nothing wakes it earlier.
const operationInterval = 30 * time.Second

func lockedByOperation(in Input) *Decision {
	if in.Observed.LockHolder == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationRunning},
		Why:    fmt.Sprintf("Operation %s has the release: Helm waits until it ends", in.Observed.LockHolder.Name),
	}
}

// yield: an Operation waits for the release, and nothing runs. It gets its turn
// between two actions, or a release that is tried again and again would keep it
// waiting. A pending revision is unlocked first, for the Operation waits for that.
func awaitOperation(in Input) *Decision {
	if in.Observed.WaitingOperation == nil {
		return nil
	}
	return &Decision{
		Action: Wait{After: operationInterval, For: helmv2.ReasonOperationWaiting},
		Why:    fmt.Sprintf("Operation %s waits for the release, and has the next turn", in.Observed.WaitingOperation.Name),
	}
}
