// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// maxName is the longest name of a Job: its pods carry it as a label.
const maxName = 63

// jobName returns the name of a step's Job: that of the Operation, cut, and eight
// digits of a hash of its UID. Steps of an event are numbered. Nobody else can
// come to the same name, and every visit comes to it again. Its length leaves
// room for what Kubernetes appends.
func jobName(op Operation, step int, numbered bool, room int) string {
	sum := sha256.Sum256([]byte(op.UID))
	suffix := "-" + hex.EncodeToString(sum[:4])
	if numbered {
		suffix += "-" + strconv.Itoa(step+1)
	}
	// A dot is allowed in the names of Jobs, and not in the host names of the pods of
	// an indexed one.
	stem := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, op.Name)
	stem = stem[:min(len(stem), max(0, maxName-room-len(suffix)))]
	if stem = strings.Trim(stem, "-"); stem == "" {
		stem = "operation"
	}
	return stem + suffix
}

// indexRoom is how many characters the index of a pod takes up, with its dash.
func indexRoom(completions *int32) int {
	if completions == nil || *completions < 1 {
		return 0
	}
	return 1 + len(strconv.Itoa(int(*completions)-1))
}

// digest returns the digest of the manifests of hooks. Of several hooks it is
// over their own digests, so that no text can pass from one to the next.
func digest(hooks ...Hook) string {
	if len(hooks) == 1 {
		return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(hooks[0].Manifest)))
	}
	all := sha256.New()
	for _, h := range hooks {
		all.Write([]byte(digest(h) + "\n"))
	}
	return fmt.Sprintf("sha256:%x", all.Sum(nil))
}

// labelValue reports whether a text may be the value of a label.
func labelValue(s string) bool {
	alphanumeric := func(b byte) bool {
		return (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9')
	}
	if s == "" || len(s) > 63 || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if !alphanumeric(s[i]) && !strings.ContainsRune("-_.", rune(s[i])) {
			return false
		}
	}
	return true
}
