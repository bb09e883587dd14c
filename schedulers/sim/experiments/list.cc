#include "schedulers/sim/experiments/list.h"

namespace millrace::sim::experiments {

const std::vector<Experiment>& ListExperiments() {
  static const std::vector<Experiment> kExperiments = {
      {"sticky-slots", "node locality as jobs keep their slots, without and with delay scheduling",
       "Zaharia et al. 2009, figures 5, 13, 14", StickySlots},
      {"small-jobs", "locality and throughput of streams of small jobs with delay scheduling",
       "Zaharia et al. 2009, table 3, figure 12", SmallJobs},
      {"multi-user", "benchmark BM: response times and locality by job size",
       "Zaharia et al. 2009, table 2, figures 10, 11", MultiUser},
      {"batch", "slowdowns of jobs and end of a batch", "Zaharia et al. 2009, section 5.3, figures 7 to 9", Batch},
      {"hot-spot", "IO-rate biasing on a hot file", "Zaharia et al. 2009, section 6.2.4, figure 15", HotSpot},
      {"lsap-locality", "local tasks of one round, dl against lsap", "Guo et al. 2012, figures 3, 4", LsapLocality},
      {"lsap-cost", "data locality cost of one round, dl, lsap-uniform and lsap", "Guo et al. 2012, figures 5 to 8",
       LsapCost},
      {"lsap-fairness", "fairness against locality under lsap-fair", "Guo et al. 2012, figure 9", LsapFairness},
      {"fresh-sets", "mixed batches: makespan and fairness of FRESH", "Wang et al. 2014, figures 4 to 6, table II",
       FreshSets},
      {"joss-workloads", "two datacenters: locality, traffic, turnaround and load of JoSS",
       "Lee et al. 2015, figures 7 to 14, tables 8 to 10", JossWorkloads},
      {"cp-deadlines", "open streams with deadlines: EDF against CP", "Lim et al. 2015, figures 6 to 13", CpDeadlines},
  };
  return kExperiments;
}

}  // namespace millrace::sim::experiments
