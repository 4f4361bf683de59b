// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
)

// TestProblemsAreLoggedOnce: an obstacle of an Operation is logged at level error, once.
func TestProblemsAreLoggedOnce(t *testing.T) {
	b := newBench(t)
	b.refuse = func(did string) error {
		if strings.HasPrefix(did, "try ") {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusBadRequest, Message: "not like this"}}
		}
		return nil
	}
	var problems []string
	ctx := ctrl.LoggerInto(t.Context(), funcr.NewJSON(func(line string) {
		if strings.Contains(line, `"error"`) {
			problems = append(problems, line)
		}
	}, funcr.Options{}))
	for range 5 {
		b.catchUp()
		_, err := b.r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: "op"}})
		if err != nil && !errors.Is(err, errStale) {
			t.Fatal(err)
		}
	}
	if len(problems) != 1 || !strings.Contains(problems[0], `"reason":"JobRefused"`) || !strings.Contains(problems[0], "not like this") {
		t.Errorf("the problems are %v", problems)
	}
}
