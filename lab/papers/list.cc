#include "lab/papers/list.h"

namespace millrace::sim::experiments {

const std::vector<Experiment>& ListExperiments() {
  static const std::vector<Experiment> kExperiments = {
      {"multi-user", "benchmark BM: response times and locality by job size",
       "Zaharia et al. 2009, table 2, figures 10, 11", MultiUser},
      {"lsap-locality", "local tasks of one round, dl against lsap", "Guo et al. 2012, figures 3, 4", LsapLocality},
      {"lsap-cost", "data locality cost of one round, dl, lsap-uniform and lsap", "Guo et al. 2012, figures 5 to 8",
       LsapCost},
      {"lsap-fairness", "fairness against locality under lsap-fair", "Guo et al. 2012, figure 9", LsapFairness},
      {"fresh-simple", "ten equal jobs: makespan and fairness of FRESH by k", "Wang et al. 2014, figure 3",
       FreshSimple},
      {"fresh-sets", "mixed batches: makespan and fairness of FRESH", "Wang et al. 2014, figures 4 to 6, table II",
       FreshSets},
      {"joss-workloads", "two datacenters: locality, traffic, turnaround and load of JoSS",
       "Lee et al. 2015, figures 7 to 9 and 11 to 15, tables 8 to 10", JossWorkloads},
  };
  return kExperiments;
}

}  // namespace millrace::sim::experiments
