// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// member makes a release use the OCIRepository app.
func member(hr *helmv2.HelmRelease) {
	hr.Spec.ChartRef.Name = "app"
	rollsBack(hr)
}

// wave is releases that take the same charts, under a policy with a rollout.
type wave struct {
	*world
	names []string
	bad   map[string]bool

	// counted guards most: requests of the controller are answered concurrently.
	counted sync.Mutex
	most    int
}

// list returns all HelmReleases.
func (w *wave) list() []helmv2.HelmRelease {
	var all helmv2.HelmReleaseList
	w.must(w.client.List(w.Context(), &all, client.InNamespace(namespace)))
	return all.Items
}

// moves reports whether a release is upgraded or watched.
func moves(hr *helmv2.HelmRelease) bool {
	return hr.Status.LastAttemptedReleaseAction != "" && hr.Status.LastAttemptedReleaseActionDuration == nil ||
		apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionBaking)
}

// count counts the releases in flight.
func (w *wave) count() {
	moving := 0
	for _, hr := range w.list() {
		if moves(&hr) {
			moving++
		}
	}
	w.counted.Lock()
	defer w.counted.Unlock()
	w.most = max(w.most, moving)
}

// crash makes the bad releases crash two minutes after their upgrade to 2.0.0.
func (w *wave) crash() {
	for _, hr := range w.list() {
		last := release.Latest(hr.Status.History)
		baking := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionBaking)
		if w.bad[hr.Name] && last != nil && strings.HasPrefix(last.ChartVersion, "2.") && baking != nil && time.Since(baking.LastTransitionTime.Time) >= 2*time.Minute {
			w.edits(hr.Name, "bad")
		}
	}
}

// TestRollout: of many releases, never more than some are in flight. Bad ones halt the wave and are rolled
// back, and those that have not begun are untouched. The next chart mends all of them. A controller that
// is killed at random moments does the same.
func TestRollout(t *testing.T) {
	count, every, concurrent, failures, kills := 200, 5, int32(10), int32(3), 10
	if testing.Short() {
		count, every, concurrent, failures, kills = 10, 3, 2, 2, 2
	}
	for name, seed := range map[string]uint64{"Undisturbed": 0, "Killed": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(world *world) {
				random := rand.New(rand.NewPCG(seed, 2))
				w := &wave{world: world, bad: map[string]bool{}}
				stop := w.start()
				w.publish("app", "1.0.0", w.note("1.0.0"))
				for i := range count {
					name := fmt.Sprintf("r%03d", i)
					w.names = append(w.names, name)
				}
				for place, i := range random.Perm(count) {
					w.bad[w.names[i]] = place%every == 0
				}
				for _, name := range w.names {
					w.release(name, "one", member)
				}
				time.Sleep(5 * time.Minute)
				w.policy("fleet", v1alpha1.ReleasePolicySpec{Rollout: &v1alpha1.Rollout{
					MaxConcurrent: concurrent, MaxFailed: failures, BakeTime: metav1.Duration{Duration: bakeTime},
					BakeExprs: []v1alpha1.BakeExpr{{APIVersion: "v1", Kind: "ConfigMap", Failed: "data.message == 'bad'"}},
				}})
				time.Sleep(time.Minute)
				w.most = 0
				// pass lets time pass, and kills the process.
				pass := func(span time.Duration, kills int) {
					end := time.Now().Add(span)
					for time.Now().Before(end) {
						dead := func() bool { return false }
						if kills > 0 {
							kills--
							var left atomic.Int64
							left.Store(20 + random.Int64N(60))
							dead = w.dies(func(req *http.Request) bool {
								if strings.HasSuffix(req.URL.Path, "/status") {
									w.count()
								}
								return left.Add(-1) == 0
							})
						} else {
							w.dies(func(req *http.Request) bool {
								if strings.HasSuffix(req.URL.Path, "/status") {
									w.count()
								}
								return false
							})
						}
						for !dead() && time.Now().Before(end) {
							time.Sleep(20 * time.Second)
							w.settle()
							w.crash()
						}
						if dead() {
							stop()
							w.up()
							stop = w.start()
						}
					}
					w.up()
				}
				kills := kills
				if seed == 0 {
					kills = 0
				}
				w.publish("app", "2.0.0", w.note("2.0.0"))
				// A bake takes five minutes: all turns would end in this time.
				pass(time.Duration(count/int(concurrent))*6*time.Minute, kills)
				failed, untouched := 0, 0
				for _, hr := range w.list() {
					last := release.Latest(hr.Status.History)
					is1 := strings.HasPrefix(last.ChartVersion, "1.")
					ready := condition(&hr, helmv2.ConditionReady)
					switch {
					case hr.Status.UpgradeFailures > 0:
						failed++
						if !w.bad[hr.Name] || !is1 || ready.Reason != helmv2.ReasonRollbackSucceeded || w.message(hr.Name) != "one" {
							t.Errorf("%s is not rolled back: %+v", hr.Name, ready)
						}
					case is1:
						untouched++
						if last.Version != 1 || ready.Reason != helmv2.ReasonAwaitingRollout || !strings.Contains(ready.Message, "ReleasePolicy/fleet halts note 2.0.0+") {
							t.Errorf("%s does not wait: %+v", hr.Name, ready)
						}
					case ready.Status != metav1.ConditionTrue || w.bad[hr.Name]:
						t.Errorf("%s: %+v", hr.Name, ready)
					}
				}
				if w.most != int(concurrent) || failed < int(failures) || failed > int(failures+concurrent)-1 || untouched == 0 {
					t.Errorf("%d in flight, %d failed, %d untouched", w.most, failed, untouched)
				}
				w.publish("app", "3.0.0", w.note("3.0.0"))
				pass(time.Duration(count/int(concurrent)+4)*6*time.Minute, kills)
				for _, hr := range w.list() {
					if last, ready := release.Latest(hr.Status.History), condition(&hr, helmv2.ConditionReady); !strings.HasPrefix(last.ChartVersion, "3.") || ready.Status != metav1.ConditionTrue {
						t.Errorf("%s is not mended: %+v", hr.Name, ready)
					}
				}
				if w.most != int(concurrent) {
					t.Errorf("%d in flight", w.most)
				}
			})
		})
	}
}

// TestRolloutByValues: a new content of a ConfigMap that several releases take values from spreads by stages,
// though each release sees it at its own time. A bad one stays in the first stage, over restarts too, and
// other changes of values do not wait for it. The next content mends it.
func TestRolloutByValues(t *testing.T) {
	inBubble(t, func(w *world) {
		stop := w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		common := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "common"}, Data: map[string]string{"values.yaml": "message: first"}}
		w.create(common)
		canary := map[string]bool{"r4": true, "r5": true}
		for i := range 6 {
			w.release(fmt.Sprintf("r%d", i), "", member, func(hr *helmv2.HelmRelease) {
				hr.Spec.Values = nil
				hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: helmv2.KindConfigMap, Name: common.Name}}
				hr.Labels = map[string]string{"stage": "production"}
				if canary[hr.Name] {
					hr.Labels["stage"] = "canary"
				}
			})
		}
		own := w.release("own", "one", member)
		time.Sleep(time.Minute)
		w.policy("fleet", v1alpha1.ReleasePolicySpec{Rollout: &v1alpha1.Rollout{
			By: v1alpha1.RolloutByValues, MaxConcurrent: 2, BakeTime: metav1.Duration{Duration: bakeTime},
			BakeExprs: []v1alpha1.BakeExpr{{APIVersion: "v1", Kind: "ConfigMap", Failed: "data.message == 'bad'"}},
			Order:     []metav1.LabelSelector{{MatchLabels: map[string]string{"stage": "canary"}}, {}},
		}})
		time.Sleep(time.Minute)
		have := func(name string) string {
			hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			w.read(hr)
			return condition(hr, helmv2.ConditionReady).Reason + " " + w.message(name)
		}
		// pass lets time pass, and restarts the controller halfway.
		pass := func(span time.Duration, allowed func() bool, message string) {
			t.Helper()
			for i := range 2 {
				for end := time.Now().Add(span / 2); time.Now().Before(end); time.Sleep(2 * time.Minute) {
					w.settle()
					for i := range 4 {
						if name := fmt.Sprintf("r%d", i); w.message(name) == message && !allowed() {
							t.Errorf("%s has %q before the canaries", name, message)
						}
					}
				}
				if i == 0 {
					stop()
					stop = w.start()
				}
			}
		}
		content := func(message string) {
			edit(w, common, func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"values.yaml": "message: " + message} })
		}
		worked := func(message string) func() bool {
			return func() bool {
				return strings.HasSuffix(have("r4"), "UpgradeSucceeded "+message) && strings.HasSuffix(have("r5"), "UpgradeSucceeded "+message)
			}
		}
		content("second")
		pass(3*time.Hour, worked("second"), "second")
		for i := range 6 {
			if got := have(fmt.Sprintf("r%d", i)); got != "UpgradeSucceeded second" {
				t.Errorf("r%d: %s", i, got)
			}
		}
		content("bad")
		pass(3*time.Hour, func() bool { return false }, "bad")
		for i := range 6 {
			name := fmt.Sprintf("r%d", i)
			got := have(name)
			if !canary[name] && got != "AwaitingRollout second" || canary[name] && got != "RollbackSucceeded second" && got != "AwaitingRollout second" {
				t.Errorf("%s: %s", name, got)
			}
		}
		w.says(own, "two")
		time.Sleep(10 * time.Minute)
		if got := have("own"); got != "UpgradeSucceeded two" {
			t.Errorf("own: %s", got)
		}
		content("third")
		pass(3*time.Hour, worked("third"), "third")
		for i := range 6 {
			if got := have(fmt.Sprintf("r%d", i)); got != "UpgradeSucceeded third" {
				t.Errorf("r%d: %s", i, got)
			}
		}
	})
}
