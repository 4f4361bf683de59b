// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmrelease

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/test/controllertest"
)

// endedStub holds one outcome until it is recorded.
type endedStub struct {
	*stub
	outcome *release.Outcome
}

func (s *endedStub) Outcome(types.NamespacedName) (release.Outcome, bool) {
	if s.outcome == nil {
		return release.Outcome{}, false
	}
	return *s.outcome, true
}

func (s *endedStub) Forget(types.NamespacedName) { s.outcome = nil }

// TestUnansweredStatusWrite: a failure is counted once, and its event is sent once, whether
// or not a status write was carried out that the API server did not answer.
func TestUnansweredStatusWrite(t *testing.T) {
	for name, carriedOut := range map[string]bool{"CarriedOut": true, "Lost": false} {
		t.Run(name, func(t *testing.T) {
			s := &stub{}
			r := testReconciler(t, s)
			failed := release.Revision{Name: "web", Namespace: "apps", Version: 1, Status: helmv2.StatusFailed, Sealed: true, Owner: "uid-1"}
			ended := &endedStub{stub: s, outcome: &release.Outcome{
				Action: release.Install{}, Err: errors.New("a hook failed"), Revisions: []release.Revision{failed},
				Desired: release.Desired{UID: "uid-1", Target: release.Target{Name: "web", Namespace: "apps", StorageNamespace: "apps"}},
				Started: time.Now(), Ended: time.Now(),
			}}
			r.attempts = ended
			unanswered := 1
			r.client = interceptor.NewClient(r.client.(client.WithWatch), interceptor.Funcs{
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if unanswered == 0 {
						return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
					}
					unanswered--
					if carriedOut {
						if err := c.SubResource(sub).Patch(ctx, obj, patch, opts...); err != nil {
							return err
						}
					}
					return apierrors.NewInternalError(errors.New("the answer is lost"))
				},
			})
			problems := 0
			ctx := ctrl.LoggerInto(t.Context(), funcr.NewJSON(func(line string) { problems += strings.Count(line, `"msg":"failed"`) }, funcr.Options{}))
			if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key}); err == nil {
				t.Fatal("the write was answered")
			}
			for range 3 {
				if _, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			if problems != 1 {
				t.Errorf("the failure is logged %d times", problems)
			}
			hr := &helmv2.HelmRelease{}
			if err := r.client.Get(t.Context(), key, hr); err != nil {
				t.Fatal(err)
			}
			events := len(r.events.(controllertest.Events))
			if hr.Status.Failures != 1 || hr.Status.InstallFailures != 1 || ended.outcome != nil || events != 1 {
				t.Errorf("%d failures, %d of installs, %d events, outcome %v", hr.Status.Failures, hr.Status.InstallFailures, events, ended.outcome)
			}
		})
	}
}
