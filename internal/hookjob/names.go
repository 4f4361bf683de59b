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

// maxName is the longest name of a Job: its pods have it as a label.
const maxName = 63

// jobName returns the name of a step's Job: the truncated name of the Operation and eight digits of
// a hash of its UID. Steps of an event are numbered. The name is unique to the Operation and the
// same in each reconciliation. It leaves reserved characters for the suffix of Kubernetes.
func jobName(op Operation, step int, numbered bool, reserved int) string {
	suffix := "-" + hashOf(op.UID)
	if numbered {
		suffix += "-" + strconv.Itoa(step+1)
	}
	// Names of Jobs may contain dots, and host names of the pods of an indexed Job may not.
	stem := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '-'
	}, op.Name)
	stem = stem[:min(len(stem), max(0, maxName-reserved-len(suffix)))]
	if stem = strings.Trim(stem, "-"); stem == "" {
		stem = "operation"
	}
	return stem + suffix
}

// hashOf returns the part of a Job's name that tells Operations apart.
func hashOf(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:4])
}

// IsJobName reports whether an Operation gives a name to one of its Jobs. Labels can be added to
// any Job, and a name does not change.
func IsJobName(uid, name string) bool {
	own := "-" + hashOf(uid)
	i := strings.LastIndexByte(name, '-')
	if i < 0 || strings.HasSuffix(name, own) {
		return i >= 0
	}
	// Jobs of an event are numbered.
	_, err := strconv.ParseUint(name[i+1:], 10, 16)
	return err == nil && strings.HasSuffix(name[:i], own)
}

// indexLength returns the length of the longest index of a pod with its dash.
func indexLength(completions *int32) int {
	if completions == nil || *completions < 1 {
		return 0
	}
	return 1 + len(strconv.Itoa(int(*completions)-1))
}

// Digest returns the digest of the manifest of a hook, as sha256:<hex>.
func Digest(h Hook) string { return digest(h) }

// digest returns the digest of the manifests of hooks. For several hooks it is the digest of their
// digests, so that it depends on where one ends.
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

// isLabelValue reports whether a text is a valid label value.
func isLabelValue(s string) bool {
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
