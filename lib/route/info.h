// What a server says in INFO. Pure.
#pragma once

#include <string>
#include <string_view>

namespace belay {

// What stands behind the name of a field, which ends with a colon; "" where there is none.
std::string_view info_field(std::string_view info, std::string_view name);

// Why a failover is likely to lose what this master grants, by its INFO replication; "": it is not.
std::string risk_of_failover(std::string_view info);

}  // namespace belay
